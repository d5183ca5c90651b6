/// An index of a cache's slots by the hashes of their keys.
///
/// It is like a dictionary without the keys: the caller compares keys, and only those with the same hash. In a large
/// cache, the cost is not the hashing but the access to the keys' memory. A dictionary accesses it for each neighbour
/// that it meets, both to find and to remove a key.
struct SlotIndex {
    private struct Link {
        var hash = 0
        /// The next slot of the same chain.
        var next: Int32 = SlotIndex.none
    }

    private static let none: Int32 = -1

    /// The first slot of each chain; the number of chains is a power of two.
    private var chains = [Int32](repeating: none, count: 16)
    /// By slot.
    private var links: [Link] = []
    private(set) var count = 0

    /// The slot with this hash for which `isWanted` is true.
    func slot(_ hash: Int, where isWanted: (Int) -> Bool) -> Int? {
        var slot = chains[chain(of: hash)]
        while slot != Self.none {
            let link = links[Int(slot)]
            if link.hash == hash, isWanted(Int(slot)) { return Int(slot) }
            slot = link.next
        }
        return nil
    }

    /// - Parameter slot: a slot that is not in the index. Slots are small numbers.
    mutating func insert(_ slot: Int, _ hash: Int) {
        if count == chains.count { grow() }
        while links.count <= slot { links.append(Link()) }
        let chain = chain(of: hash)
        links[slot] = Link(hash: hash, next: chains[chain])
        chains[chain] = Int32(slot)
        count += 1
    }

    mutating func remove(_ slot: Int) {
        let chain = chain(of: links[slot].hash)
        let next = links[slot].next
        guard chains[chain] != slot else {
            chains[chain] = next
            count -= 1
            return
        }
        var previous = chains[chain]
        while previous != Self.none {
            if links[Int(previous)].next == slot {
                links[Int(previous)].next = next
                count -= 1
                return
            }
            previous = links[Int(previous)].next
        }
    }

    mutating func removeAll() { self = SlotIndex() }

    private func chain(of hash: Int) -> Int { hash & (chains.count - 1) }

    private mutating func grow() {
        let before = chains
        chains = [Int32](repeating: Self.none, count: before.count * 2)
        for first in before {
            var slot = first
            while slot != Self.none {
                let next = links[Int(slot)].next
                let chain = chain(of: links[Int(slot)].hash)
                links[Int(slot)].next = chains[chain]
                chains[chain] = slot
                slot = next
            }
        }
    }
}
