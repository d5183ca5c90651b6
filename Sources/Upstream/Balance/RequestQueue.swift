internal import NIOCore

/// A queue, first come first served, with a limited length and a time limit for each element.
struct RequestQueue<Element: AnyObject> {
    private let capacity: Int
    private let timeout: TimeAmount
    private var entries: [(element: Element?, until: NIODeadline)] = []
    /// The index of the first entry; those before it have been taken.
    private var head = 0
    private(set) var count = 0

    init(capacity: Int, timeout: TimeAmount) {
        self.capacity = capacity
        self.timeout = timeout
    }

    var isEmpty: Bool { count == 0 }
    /// The number of stored entries, including those that have been removed.
    var storedCount: Int { entries.count }

    /// - Returns: false if the queue is full.
    mutating func add(_ element: Element, at now: NIODeadline) -> Bool {
        guard count < capacity else { return false }
        entries.append((element, now + timeout))
        count += 1
        return true
    }

    mutating func takeFirst() -> Element? {
        while head < entries.count {
            let element = entries[head].element
            entries[head].element = nil
            head += 1
            if let element {
                count -= 1
                compact()
                return element
            }
        }
        compact()
        return nil
    }

    /// Removes an element that no longer waits.
    mutating func remove(_ element: Element) {
        guard let index = entries[head...].firstIndex(where: { $0.element === element }) else { return }
        entries[index].element = nil
        count -= 1
        compact()
    }

    /// Removes and returns the elements whose time limit has passed.
    mutating func takeExpired(at now: NIODeadline) -> [Element] {
        var expired: [Element] = []
        // All have the same time limit, so the oldest expire first.
        while head < entries.count, entries[head].element == nil || entries[head].until <= now {
            if let element = entries[head].element {
                expired.append(element)
                count -= 1
            }
            head += 1
        }
        compact()
        return expired
    }

    /// Removes and returns all elements.
    mutating func takeAll() -> [Element] {
        let all = entries[head...].compactMap(\.element)
        entries.removeAll()
        head = 0
        count = 0
        return all
    }

    private mutating func compact() {
        if count == 0 {
            entries.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 > entries.count {
            entries.removeFirst(head)
            head = 0
        }
    }
}
