internal import Listener
internal import Pipeline
internal import Synchronization

/// Counts the requests in flight on all event loops, against the gateway's limit. A request is in flight until its
/// response has ended or, if it is complete but waits for the client, until it is sent.
///
/// It costs one relaxed atomic addition at a request's begin and one at its end. The count is exact, and the cost is
/// small compared with the rest of a request.
package final class RequestsInFlight: Sendable {
    private let count = Atomic(0)
    /// The requests in flight of each client's address.
    let byAddress = AddressCounts()

    package init() {}

    /// Counts a new request, even one that will be refused. Each call must be followed by one ``end(_:)``.
    ///
    /// - Returns: whether the request is within the limit.
    @inline(__always)
    func begin(limit: Int) -> Bool {
        count.add(1, ordering: .relaxed).newValue <= limit
    }

    /// Counts the end of a request.
    ///
    /// - Parameter slots: the counters of its client's address; nil if the address was not counted.
    @inline(__always)
    func end(_ slots: AddressCounters?) {
        count.subtract(1, ordering: .relaxed)
        if let slots { byAddress.end(slots) }
    }

    /// Counts a request whose complete response waits for its client, regardless of the limits.
    ///
    /// - Returns: a closure that ends the counting. Call it exactly once.
    func hold(_ slots: AddressCounters?) -> () -> Void {
        count.add(1, ordering: .relaxed)
        if let slots { _ = byAddress.begin(slots, limit: .max) }
        return { self.end(slots) }
    }
}

extension TrustedProxies {
    /// The counters of a request's client: the connection's peer, or the client that a trusted proxy reports. Nil if
    /// the client is unknown, or if its address is that of a trusted proxy, which many clients may use.
    ///
    /// - Parameters:
    ///   - client: the client's address, as far as it is known.
    ///   - peer: the address of the connection's peer.
    ///   - peerCounters: the counters of the peer's address.
    func slots(ofClient client: String, peer: String, at peerCounters: AddressCounters?) -> AddressCounters? {
        if client.utf8.elementsEqual(peer.utf8) { return peerCounters }
        return IPAddress(client).flatMap { isTrusted($0) ? nil : AddressCounters(of: $0) }
    }
}
