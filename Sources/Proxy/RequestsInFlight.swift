internal import Listener
internal import Synchronization

/// Counts the requests of all event loops whose response has not ended, or waits for its client, against what the gateway
/// takes at once.
///
/// One atomic addition as a request begins and one as it ends, without any ordering: exact, and far below what else a
/// request costs.
package final class RequestsInFlight: Sendable {
    private let count = Atomic(0)
    /// The same for each client's address.
    let byAddress = AddressCounts()

    package init() {}

    /// Counts a request in, also one that is to be turned away: each is followed by one ``end()``.
    ///
    /// - Returns: whether there is room for it.
    @inline(__always)
    func begin(limit: Int) -> Bool {
        count.add(1, ordering: .relaxed).newValue <= limit
    }

    @inline(__always)
    func end() {
        count.subtract(1, ordering: .relaxed)
    }

    /// Counts a request on whose response waits for its client, whatever the limits are.
    ///
    /// - Returns: what ends that, to be called once.
    func hold(_ slots: AddressSlots?) -> () -> Void {
        count.add(1, ordering: .relaxed)
        if let slots { _ = byAddress.begin(slots, limit: .max) }
        return {
            self.end()
            if let slots { self.byAddress.end(slots) }
        }
    }
}
