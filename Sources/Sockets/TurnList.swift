/// A list that is taken as a whole. Meanwhile another one takes what is added, and both keep their room.
struct TurnList<Element> {
    private var waiting: [Element] = []
    private var spare: [Element] = []
    /// A burst leaves no larger room behind.
    private static var mostKept: Int { 4096 }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ element: Element) { waiting.append(element) }

    /// Takes all, to be given back empty with ``end(_:)``.
    mutating func begin() -> [Element] {
        var taken: [Element] = []
        swap(&taken, &spare)
        swap(&taken, &waiting)
        return taken
    }

    /// Gives back the room of an empty list: an element that is let go of here could add to this one.
    mutating func end(_ list: consuming [Element]) { spare = list }

    static func clear(_ list: inout [Element]) { list.removeAll(keepingCapacity: list.count <= mostKept) }
}

/// A task is no bare function: a generic list would wrap that anew at each access.
struct LoopTask {
    let run: () -> Void
}
