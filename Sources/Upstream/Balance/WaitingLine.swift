internal import NIOCore

/// A queue, first come first served, with a limited length and a time limit for each element.
struct WaitingLine<Element: AnyObject> {
    private let capacity: Int
    private let patience: TimeAmount
    private var entries: [(element: Element?, until: NIODeadline)] = []
    /// Where the line begins: what is before it has gone.
    private var head = 0
    private(set) var count = 0

    init(capacity: Int, patience: TimeAmount) {
        self.capacity = capacity
        self.patience = patience
    }

    var isEmpty: Bool { count == 0 }
    /// Places held, with those of who has gone.
    var storedCount: Int { entries.count }

    /// - Returns: false when the line is full.
    mutating func add(_ element: Element, at now: NIODeadline) -> Bool {
        guard count < capacity else { return false }
        entries.append((element, now + patience))
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

    /// Takes out who no longer wants to wait.
    mutating func remove(_ element: Element) {
        guard let index = entries[head...].firstIndex(where: { $0.element === element }) else { return }
        entries[index].element = nil
        count -= 1
        compact()
    }

    /// Takes out whose time is over.
    mutating func takeExpired(at now: NIODeadline) -> [Element] {
        var expired: [Element] = []
        // All wait equally long, so the first to come are the first to go.
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

    /// Takes everyone out.
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
