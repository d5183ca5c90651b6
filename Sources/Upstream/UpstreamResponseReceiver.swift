package import HTTP1
package import HTTPTypes
package import NIOCore

/// The receiver of a backend's response. All methods are called on the event loop.
package protocol UpstreamResponseReceiver: AnyObject {
    /// The final response's head has arrived, or 101.
    func upstreamResponded(_ head: ResponseHead)
    /// A part of the response's body has arrived.
    func upstreamSent(_ body: ByteBuffer)
    /// No more bytes are available now: what was passed on can be flushed.
    func upstreamReadComplete()
    /// The response is complete.
    ///
    /// - Parameter trailers: as the backend sent them; nil if there are none, or the client accepts none.
    func upstreamFinished(trailers: HTTPFields?)
    /// The request has failed. After ``upstreamResponded(_:)`` the response is incomplete.
    func upstreamFailed(_ error: UpstreamError)
    /// More of the request's body can be sent.
    func upstreamWantsBody()
    /// A hash that identifies the client. Collisions are possible.
    var clientHash: UInt64 { get }
    /// The request's identifier in logs.
    var requestID: String { get }
}
