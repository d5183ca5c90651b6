internal import Pipeline

/// Selects the server of each request on one event loop. It is a value without clock, lock or allocation.
///
/// Weights are multiplied by 100, so that a server that has just returned can take a fraction of its share.
struct Balancer: Sendable {
    private struct Slot {
        /// The current weight times 100; 0 while the server takes no requests.
        var weight: Int
        /// The credit of smooth weighted round robin.
        var credit = 0
        var inFlight = 0
    }

    private let balance: Balance
    /// The most requests in flight on one server.
    private let capacity: Int
    private var slots: [Slot]
    private let ring: HashRing

    /// - Parameter servers: the stable name, for hashing, and the weight of each server.
    init(_ balance: Balance, servers: [(name: String, weight: Int)], capacity: Int) {
        self.balance = balance
        self.capacity = capacity
        self.slots = servers.map { Slot(weight: $0.weight * 100) }
        self.ring = HashRing(balance == .hashSubject ? servers : [])
    }

    /// Whether any server takes requests, now or after waiting.
    var hasServer: Bool { slots.contains { $0.weight > 0 } }

    /// Whether any server has room for a request now.
    var hasRoom: Bool { slots.indices.contains(where: hasRoom(_:)) }

    func takes(_ server: Int) -> Bool { slots[server].weight > 0 }

    /// Sets a server's weight times 100; 0: it takes no requests.
    mutating func setShare(_ share: Int, of server: Int) {
        slots[server].weight = share
        // Otherwise the credit stays: shares change often while a server returns, and the rotation must not restart
        // each time.
        if share == 0 { slots[server].credit = 0 }
    }

    func inFlight(on server: Int) -> Int { slots[server].inFlight }

    mutating func began(on server: Int) { slots[server].inFlight += 1 }
    mutating func ended(on server: Int) { slots[server].inFlight -= 1 }

    /// Returns the server for the next request; nil if none has room.
    ///
    /// - Parameters:
    ///   - subject: the user, whose requests all go to the same server with `hashSubject`; nil: none.
    ///   - avoided: the index of a server that has just failed this request; -1: none.
    mutating func pick(subject: String? = nil, avoiding avoided: Int = -1) -> Int? {
        if slots.count == 1 { return avoided != 0 && hasRoom(0) ? 0 : nil }
        switch balance {
        case .roundRobin: return pickInTurn(avoided)
        case .leastRequests: return pickLeastBusy(avoided)
        case .hashSubject:
            guard let subject else { return pickInTurn(avoided) }
            return pickByHash(StableHash.of(subject), avoided)
        }
    }

    @inline(__always)
    private func hasRoom(_ server: Int) -> Bool {
        slots[server].weight > 0 && slots[server].inFlight < capacity
    }

    /// Smooth weighted round robin, as in nginx: each server gains its weight as credit, and the one with the most
    /// credit is picked and pays the total.
    private mutating func pickInTurn(_ avoided: Int) -> Int? {
        var total = 0
        var richest = -1
        for index in slots.indices where index != avoided && hasRoom(index) {
            slots[index].credit += slots[index].weight
            total += slots[index].weight
            if richest < 0 || slots[index].credit > slots[richest].credit { richest = index }
        }
        guard richest >= 0 else { return nil }
        slots[richest].credit -= total
        return richest
    }

    /// Equally busy servers take turns; otherwise the first would get all requests that come one at a time.
    private mutating func pickLeastBusy(_ avoided: Int) -> Int? {
        var best = -1
        var total = 0
        for index in slots.indices where index != avoided && hasRoom(index) {
            slots[index].credit += slots[index].weight
            total += slots[index].weight
            guard best >= 0 else {
                best = index
                continue
            }
            // (a + 1) / wa < (b + 1) / wb, without dividing.
            let own = (slots[index].inFlight + 1) * slots[best].weight
            let others = (slots[best].inFlight + 1) * slots[index].weight
            if own < others || (own == others && slots[index].credit > slots[best].credit) { best = index }
        }
        guard best >= 0 else { return nil }
        slots[best].credit -= total
        return best
    }

    private mutating func pickByHash(_ hash: UInt64, _ avoided: Int) -> Int? {
        guard slots.indices.contains(where: { $0 != avoided && hasRoom($0) }) else { return nil }
        // A server that has just returned takes only some of its subjects, always the same ones.
        let lot = Int(StableHash.mixed(hash) % 100)
        var second = -1
        let found = ring.walk(from: hash) { server, weight in
            guard server != avoided, hasRoom(server) else { return false }
            if slots[server].weight > lot * weight { return true }
            if second < 0 { second = server }
            return false
        }
        return found ?? (second >= 0 ? second : nil)
    }
}
