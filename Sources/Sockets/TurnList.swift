/// A list that is taken as a whole. Meanwhile another one takes what is added, and both keep their room.
struct TurnList<Element> {
    private var waiting: [Element] = []
    private var spare: [Element] = []
    /// A burst leaves no larger room behind.
    private static var mostKept: Int { 4096 }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ element: Element) { waiting.append(element) }

    /// Takes all, to be given back with ``end(_:)``.
    mutating func begin() -> [Element] {
        var taken: [Element] = []
        swap(&taken, &spare)
        swap(&taken, &waiting)
        return taken
    }

    mutating func end(_ list: consuming [Element]) {
        list.removeAll(keepingCapacity: list.count <= Self.mostKept)
        spare = list
    }
}

/// A task is no bare function: a generic list would wrap that anew at each access.
struct LoopTask {
    let run: () -> Void
}
