internal import Settings

/// The kept, new and removed addresses when the listeners change. Numbers are indices into the two lists.
struct ListenerChanges: Equatable {
    /// For each new address, the index of the same address in the old list; nil if it is new.
    var known: [Int?] = []
    var removed: [Int] = []

    /// Addresses with port 0 are matched in their order.
    init(from old: [HostAndPort], to new: [HostAndPort]) {
        var left = Array(old.indices)
        for address in new {
            let place = left.firstIndex { old[$0] == address }
            known.append(place.map { left.remove(at: $0) })
        }
        removed = left
    }
}
