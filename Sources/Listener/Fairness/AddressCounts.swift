package import Pipeline
internal import Synchronization

/// The counters of a client's address: one slot in each row of every ``AddressCounts``.
package struct AddressCounters: Sendable, Equatable {
    fileprivate let first: UInt16
    fileprivate let second: UInt16
    fileprivate let third: UInt16

    /// - Parameter address: an IPv6 address is reduced to its /64, which one customer has as a whole (RFC 6177).
    package init(of address: IPAddress) {
        // `Hasher` has a random seed per process, so an attacker cannot choose addresses that share a victim's slots.
        var hasher = Hasher()
        hasher.combine(address.ofCustomer)
        let hash = UInt64(bitPattern: Int64(hasher.finalize()))
        first = UInt16(truncatingIfNeeded: hash) & Self.mask
        second = UInt16(truncatingIfNeeded: hash >> 16) & Self.mask
        third = UInt16(truncatingIfNeeded: hash >> 32) & Self.mask
    }

    private static let mask = UInt16(AddressCounts.width - 1)
}

/// Counts the concurrent connections or requests of each client address, over all event loops.
///
/// A count-min sketch with three rows (Cormode and Muthukrishnan, 2005), not a table with an entry per address: an
/// address has one slot in each row, and its count is the smallest of the three. The result is never too low, so no
/// address exceeds a limit. It is too high only if an address shares all three slots with others: with a hundred
/// addresses at their limit, one of half a million others is wrongly refused.
///
/// An event loop takes no lock and performs no lookup: three relaxed atomic additions at the beginning, three at the
/// end. A share of the limit per event loop would not work: connections are assigned round-robin, and two of one client
/// may land on the same loop. Memory is 96 KiB regardless of the number of addresses, and needs no cleanup.
@safe package final class AddressCounts: Sendable {
    /// The number of slots in a row; a power of two.
    static let width = 8192

    /// The three rows, contiguous. Only accessed atomically, and never replaced.
    private nonisolated(unsafe) let counts: UnsafeMutablePointer<Atomic<Int32>>

    package init() {
        unsafe counts = .allocate(capacity: 3 * Self.width)
        for index in 0..<3 * Self.width { unsafe (counts + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe counts.deinitialize(count: 3 * Self.width)
        unsafe counts.deallocate()
    }

    /// Increments the count of an address if it is below the limit.
    ///
    /// - Returns: whether it was incremented; only then must ``end(_:)`` follow.
    @inline(__always)
    package func begin(_ slots: AddressCounters, limit: Int) -> Bool {
        let least = min(add(1, 0, slots.first), add(1, 1, slots.second), add(1, 2, slots.third))
        if Int(least) <= limit { return true }
        end(slots)
        return false
    }

    @inline(__always)
    package func end(_ slots: AddressCounters) {
        _ = add(-1, 0, slots.first)
        _ = add(-1, 1, slots.second)
        _ = add(-1, 2, slots.third)
    }

    /// - Precondition: `slot` is less than ``width``; the slots of ``AddressCounters`` always are.
    private func add(_ amount: Int32, _ row: Int, _ slot: UInt16) -> Int32 {
        unsafe counts[row * Self.width + Int(slot)].wrappingAdd(amount, ordering: .relaxed).newValue
    }
}
