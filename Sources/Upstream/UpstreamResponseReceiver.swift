package import HTTP1
package import HTTPTypes
package import NIOCore

/// Hears a backend's response. Called on the event loop.
package protocol UpstreamResponseReceiver: AnyObject {
    func upstreamResponded(_ head: ResponseHead)
    func upstreamSent(_ body: ByteBuffer)
    /// Nothing more for now: what was sent on can be flushed.
    func upstreamPaused()
    /// - Parameter trailers: as the backend sent them; nil also where the client takes none.
    func upstreamFinished(trailers: HTTPFields?)
    /// There will be no (further) response. After ``upstreamResponded(_:)`` the response is broken off.
    func upstreamFailed(_ fault: UpstreamFault)
    /// More of the request's body can be taken.
    func upstreamWantsBody()
    /// The same for all requests of one client, and most likely another for another client's.
    var clientHash: UInt64 { get }
    /// The request's identifier in logs.
    var requestID: String { get }
}
