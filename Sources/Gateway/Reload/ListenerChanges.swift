internal import Settings

/// Which addresses stay, come and go when listeners are configured anew. Numbers are positions in the two lists.
struct ListenerChanges: Equatable {
    /// For each address of the new list the old one that it is, if any.
    var known: [Int?] = []
    var removed: [Int] = []

    /// Addresses with port 0 are told apart by their order.
    init(from old: [HostAndPort], to new: [HostAndPort]) {
        var left = Array(old.indices)
        for address in new {
            let place = left.firstIndex { old[$0] == address }
            known.append(place.map { left.remove(at: $0) })
        }
        removed = left
    }
}
