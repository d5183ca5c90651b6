internal import NIOCore

/// A first-come, first-served queue with a limited length and a time limit for each element. All operations take constant
/// time on average.
struct RequestQueue<Element: AnyObject> {
    private let capacity: Int
    private let timeout: TimeAmount
    /// In order of arrival. The element is nil if it has been removed.
    private var entries: [(element: Element?, until: NIODeadline)] = []
    /// The index of the first entry; those before it have been taken.
    private var head = 0
    /// The entry of each waiting element.
    private var indexes: [ObjectIdentifier: Int] = [:]

    init(capacity: Int, timeout: TimeAmount) {
        self.capacity = capacity
        self.timeout = timeout
    }

    var count: Int { indexes.count }
    var isEmpty: Bool { indexes.isEmpty }
    /// The number of stored entries, including those that have been removed.
    var storedCount: Int { entries.count }

    /// Appends an element that is not waiting yet.
    ///
    /// - Returns: false if the queue is full.
    mutating func add(_ element: Element, at now: NIODeadline) -> Bool {
        guard count < capacity else { return false }
        indexes[ObjectIdentifier(element)] = entries.count
        entries.append((element, now + timeout))
        return true
    }

    mutating func takeFirst() -> Element? {
        defer { compact() }
        while head < entries.count {
            head += 1
            if let element = clear(head - 1) { return element }
        }
        return nil
    }

    /// Removes an element that no longer waits. Has no effect if it is not waiting.
    mutating func remove(_ element: Element) {
        guard let index = indexes[ObjectIdentifier(element)] else { return }
        _ = clear(index)
        compact()
    }

    /// Removes and returns the elements whose time limit has passed.
    mutating func takeExpired(at now: NIODeadline) -> [Element] {
        var expired: [Element] = []
        // All have the same time limit, so the oldest expire first.
        while head < entries.count, entries[head].element == nil || entries[head].until <= now {
            if let element = clear(head) { expired.append(element) }
            head += 1
        }
        compact()
        return expired
    }

    /// Removes and returns all elements.
    mutating func takeAll() -> [Element] {
        let all = entries[head...].compactMap(\.element)
        entries.removeAll()
        indexes.removeAll()
        head = 0
        return all
    }

    /// - Returns: the element of an entry; nil if it has been removed before.
    private mutating func clear(_ index: Int) -> Element? {
        guard let element = entries[index].element else { return nil }
        entries[index].element = nil
        indexes[ObjectIdentifier(element)] = nil
        return element
    }

    /// Drops removed entries once they outnumber the others, wherever they are.
    private mutating func compact() {
        if isEmpty {
            entries.removeAll(keepingCapacity: true)
            head = 0
        } else if entries.count > 2 * count + 64 {
            entries.removeAll { $0.element == nil }
            head = 0
            for (index, entry) in entries.enumerated() {
                if let element = entry.element { indexes[ObjectIdentifier(element)] = index }
            }
        }
    }
}
