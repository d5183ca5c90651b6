/// A list that is taken as a whole. A second list receives elements that are added meanwhile; the capacity of both is
/// kept.
struct TurnList<Element> {
    private var waiting: [Element] = []
    private var spare: [Element] = []
    /// The largest capacity kept after a burst, in elements.
    private static var mostKept: Int { 4096 }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ element: Element) { waiting.append(element) }

    /// Removes and returns all elements; return the emptied list with ``end(_:)``.
    mutating func begin() -> [Element] {
        var taken: [Element] = []
        swap(&taken, &spare)
        swap(&taken, &waiting)
        return taken
    }

    /// Stores an emptied list for reuse of its capacity. It must already be empty: releasing an element here could
    /// append to this list.
    mutating func end(_ list: consuming [Element]) { spare = list }

    static func clear(_ list: inout [Element]) { list.removeAll(keepingCapacity: list.count <= mostKept) }
}

/// A task. A generic list would wrap a bare function anew at each access.
struct LoopTask {
    let run: () -> Void
}
