package import HTTP1
package import HTTPTypes
package import NIOCore
package import Pipeline

/// The body that a request announces.
package enum RequestBody: Equatable, Sendable {
    case none
    case length(Int)
    /// Chunked, or an HTTP/2 stream that has not ended.
    case unknownLength
}

/// A request as its connection passes it on, with a complete head and the body still to come.
package struct InboundRequest {
    package var head: HTTPRequest
    package var body: RequestBody
    /// The client's address, without port: the connection's peer, or the address that a trusted proxy names.
    package var peer: String
    /// The counters of that address; nil if it is unknown, or is a proxy's with many clients.
    package var peerCounters: AddressCounters?
    package var receivedAt: NIODeadline
    /// Whether the request names a host that the listener does not serve.
    package var isMisdirected = false
    /// The port for the listener's redirects to https; nil: requests are not redirected.
    package var httpsPort: Int?
    /// The external authorization that decides this request; nil: the request is proxied.
    package var authorization: ExternalAuthorization?
    package var clientProtocol = ClientProtocol()
    /// The response to a pending ACME challenge, which is sent before the routes are consulted.
    package var challengeResponse: String?
}

/// The reason for which a connection was refused.
package enum ConnectionRefusal: String, CaseIterable, Sendable {
    /// The listener's limit is reached.
    case limit = "connection-limit"
    /// The limit of the client's address is reached.
    case addressLimit = "address-limit"
    /// A proxy's connection did not begin with a valid PROXY header.
    case proxyHeaderMalformed = "proxy-header-malformed"
    case proxyHeaderTimeout = "proxy-header-timeout"
    /// A TLS handshake that had begun failed, or none was completed in time.
    case handshakeFailed = "handshake-failed"
}

/// The service that responds to requests on one event loop.
package protocol RequestService: AnyObject {
    /// Begins a request. The parts after its head go to the returned sink.
    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink

    /// Returns the response to bytes that did not become a request, and writes its log line.
    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer)

    /// Called when a connection is closed before it could carry a request.
    func refuseConnection(_ refusal: ConnectionRefusal, peer: String)

    /// Called when an HTTP/2 connection is ended with an error.
    func connectionFailed(_ error: HTTP2ConnectionError)

    /// Called when a connection is admitted, before any handshake, and when it has closed.
    func connectionOpened()
    func connectionClosed()

    /// Called when an idle connection is closed to make room for new ones.
    func connectionEvicted()

    /// Called when a stream of an HTTP/2 connection is opened, and when it has closed.
    func streamOpened()
    func streamClosed()
}

/// The receiver of a request's events after its head. Called on the event loop.
package protocol ExchangeSink: AnyObject {
    /// Takes a part of the body.
    ///
    /// - Returns: whether more is wanted now; if not, ``BodyDemand/resume()`` requests it later.
    func receive(_ body: ByteBuffer) -> Bool
    func receiveEnd()
    /// Called when the client begins or ceases to keep up with the response.
    func clientIsWritable(_ isWritable: Bool)
    /// Called when the rest of the request is late, missing or malformed and the response has not begun: the sink must
    /// send an error response now.
    func requestFailed(_ fault: ListenerFault)
    /// Called when the client disconnects before the response is complete.
    func clientDisconnected()
    /// Called when the time for an orderly end is over: a WebSocket must be closed now.
    func mustClose()
    /// Called when the response is complete but the client has not taken all of it.
    ///
    /// - Returns: a closure to call once when the client has taken everything or has disconnected; nil: none.
    func responseWaits() -> (() -> Void)?
}

extension ExchangeSink {
    package func mustClose() {}
    package func responseWaits() -> (() -> Void)? { nil }
}

/// The writer of a request's response. Writing consumes it, so that no request gets two responses.
package struct ResponseWriter: ~Copyable {
    private let handler: ExchangeHandler
    private let exchange: UInt64

    init(_ handler: ExchangeHandler, exchange: UInt64) {
        self.handler = handler
        self.exchange = exchange
    }

    /// Sends a whole response.
    package consuming func answer(_ head: HTTPResponse, _ body: ByteBuffer) {
        handler.write(.head(head), of: exchange)
        if body.readableBytes > 0 { handler.write(.body(body), of: exchange) }
        handler.end(exchange)
    }

    /// Begins a response whose body follows. After `101 Switching Protocols`, the body is the WebSocket's byte stream
    /// until either side ends; the sink receives the client's bytes like a request's body.
    package consuming func start(_ head: HTTPResponse) -> ResponseBodyWriter {
        handler.write(.head(head), of: exchange)
        return ResponseBodyWriter(handler, exchange: exchange)
    }

    /// Whether ``start(_:_:requestID:closes:)`` is cheaper than ``start(_:)``.
    package var sendsLines: Bool { handler.sendsLines }

    /// Begins a response with field lines that are passed on unchanged.
    ///
    /// - Parameters:
    ///   - requestID: the value of `X-Request-Id`.
    ///   - closes: whether the connection must close after the response.
    package consuming func start(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool
    ) -> ResponseBodyWriter {
        handler.writeHead(status, lines, requestID: requestID, closes: closes, of: exchange)
        return ResponseBodyWriter(handler, exchange: exchange)
    }

    /// The handle that resumes a paused request body; keep it beside the writer.
    package var bodyDemand: BodyDemand { BodyDemand(handler, exchange: exchange) }
}

/// The end of a response that has begun. Ending it in either way consumes it.
package struct ResponseBodyWriter: ~Copyable {
    /// The stream for the response's body.
    package let stream: ResponseStream

    init(_ handler: ExchangeHandler, exchange: UInt64) {
        self.stream = ResponseStream(handler, exchange: exchange)
    }

    /// - Parameter trailers: dropped if the response's framing does not support them.
    package consuming func end(trailers: HTTPFields? = nil) {
        stream.handler.end(stream.exchange, trailers: trailers)
    }

    /// Aborts the response, so that the client sees an error and not a clean end.
    package consuming func breakOff() {
        stream.handler.breakOff(stream.exchange)
    }
}

/// The stream of a response's body. Bytes written after its end are discarded.
///
/// It is copyable, so that a write can be in progress while its owner is notified that the client has disconnected; the
/// write itself may detect that.
package struct ResponseStream {
    fileprivate let handler: ExchangeHandler
    fileprivate let exchange: UInt64

    fileprivate init(_ handler: ExchangeHandler, exchange: UInt64) {
        self.handler = handler
        self.exchange = exchange
    }

    /// - Returns: whether the client keeps up; if not, ``ExchangeSink/clientIsWritable(_:)`` is called when it does.
    package func write(_ body: ByteBuffer) -> Bool {
        handler.write(.body(body), of: exchange)
    }

    package func flush() {
        handler.flush(exchange)
    }
}

/// Requests more of a request's body after its sink has paused it.
package struct BodyDemand {
    private let handler: ExchangeHandler
    private let exchange: UInt64

    init(_ handler: ExchangeHandler, exchange: UInt64) {
        self.handler = handler
        self.exchange = exchange
    }

    package func resume() {
        handler.resumeBody(of: exchange)
    }
}
