package import Pipeline
internal import Synchronization

/// Where a client's address is counted: one place in each row of every ``AddressCounts``.
package struct AddressSlots: Sendable, Equatable {
    fileprivate let first: UInt16
    fileprivate let second: UInt16
    fileprivate let third: UInt16

    /// - Parameter address: of IPv6 the /64 counts, which one customer has as a whole (RFC 6177).
    package init(of address: IPAddress) {
        // Seeded anew in each process: nobody can choose addresses that share their places with another one's.
        var hasher = Hasher()
        hasher.combine(address.ofCustomer)
        let hash = UInt64(bitPattern: Int64(hasher.finalize()))
        first = UInt16(truncatingIfNeeded: hash) & Self.mask
        second = UInt16(truncatingIfNeeded: hash >> 16) & Self.mask
        third = UInt16(truncatingIfNeeded: hash >> 32) & Self.mask
    }

    private static let mask = UInt16(AddressCounts.width - 1)
}

/// Counts what each client address has at the same time, over all event loops.
///
/// A count-min sketch of three rows (Cormode and Muthukrishnan, 2005) and no table with an entry for each address: an
/// address is counted in one place of each row, and has what the smallest of the three says. That is never less than it
/// really has, so nobody gets past a limit. It is more only for an address that shares all three places with others:
/// with a hundred addresses at their limit, one of half a million others is refused without cause.
///
/// So an event loop takes no lock and looks nothing up: three additions when something begins, three when it ends,
/// without any ordering. Parts of the limit for each loop would not do: connections are dealt out by turns, and two
/// of one client may land on the same loop. Memory is 96 KiB, however many addresses come, and nothing has to be
/// cleared away.
@safe package final class AddressCounts: Sendable {
    /// Places in a row; a power of two.
    static let width = 8192

    /// The rows, one behind the other. Only ever read and changed atomically, and never replaced.
    private nonisolated(unsafe) let counts: UnsafeMutablePointer<Atomic<Int32>>

    package init() {
        unsafe counts = .allocate(capacity: 3 * Self.width)
        for index in 0..<3 * Self.width { unsafe (counts + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe counts.deinitialize(count: 3 * Self.width)
        unsafe counts.deallocate()
    }

    /// Counts one more of an address in, if there is room.
    ///
    /// - Returns: whether there was; only then ``end(_:)`` must follow.
    @inline(__always)
    package func begin(_ slots: AddressSlots, limit: Int) -> Bool {
        let least = min(add(1, 0, slots.first), add(1, 1, slots.second), add(1, 2, slots.third))
        if Int(least) <= limit { return true }
        end(slots)
        return false
    }

    @inline(__always)
    package func end(_ slots: AddressSlots) {
        _ = add(-1, 0, slots.first)
        _ = add(-1, 1, slots.second)
        _ = add(-1, 2, slots.third)
    }

    /// - Precondition: `slot` is less than ``width``, as those of ``AddressSlots`` are.
    private func add(_ amount: Int32, _ row: Int, _ slot: UInt16) -> Int32 {
        unsafe counts[row * Self.width + Int(slot)].wrappingAdd(amount, ordering: .relaxed).newValue
    }
}
