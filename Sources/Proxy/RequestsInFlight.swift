internal import Listener
internal import Pipeline
internal import Synchronization

/// Counts the requests of all event loops whose response has not ended, or waits for its client, against what the
/// gateway takes at once.
///
/// One atomic addition as a request begins and one as it ends, without any ordering: exact, and far below what else a
/// request costs.
package final class RequestsInFlight: Sendable {
    private let count = Atomic(0)
    /// The same for each client's address.
    let byAddress = AddressCounts()

    package init() {}

    /// Counts a request in, also one that is to be turned away: each is followed by one ``end(_:)``.
    ///
    /// - Returns: whether there is room for it.
    @inline(__always)
    func begin(limit: Int) -> Bool {
        count.add(1, ordering: .relaxed).newValue <= limit
    }

    /// A request's response has ended.
    ///
    /// - Parameter slots: where its client's address was counted; nil if it was not.
    @inline(__always)
    func end(_ slots: AddressSlots?) {
        count.subtract(1, ordering: .relaxed)
        if let slots { byAddress.end(slots) }
    }

    /// Counts a request on whose response waits for its client, whatever the limits are.
    ///
    /// - Returns: what ends that, to be called once.
    func hold(_ slots: AddressSlots?) -> () -> Void {
        count.add(1, ordering: .relaxed)
        if let slots { _ = byAddress.begin(slots, limit: .max) }
        return { self.end(slots) }
    }
}

extension TrustedProxies {
    /// Where a request's client is counted: the connection's peer, or the client that a trusted proxy names. Nil if it
    /// is not known, and for a proxy that names none, be it the peer or one behind it: many clients may come by that.
    ///
    /// - Parameters:
    ///   - client: the client's address, as far as it is known.
    ///   - peer: the address of the connection's peer.
    ///   - peerSlots: where that is counted.
    func slots(ofClient client: String, peer: String, at peerSlots: AddressSlots?) -> AddressSlots? {
        if client.utf8.elementsEqual(peer.utf8) { return peerSlots }
        return IPAddress(client).flatMap { isTrusted($0) ? nil : AddressSlots(of: $0) }
    }
}
