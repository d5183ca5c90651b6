package import HTTP1
package import HTTPTypes
package import NIOCore
package import Pipeline

/// How much body a request announces.
package enum RequestBody: Equatable, Sendable {
    case none
    case length(Int)
    /// Chunked, or an HTTP/2 stream that has not ended.
    case unknownLength
}

/// A request as its connection hands it on: head complete, body still to come.
package struct InboundRequest {
    package var head: HTTPRequest
    package var body: RequestBody
    /// The client's address, without port: the connection's peer, or who a trusted proxy says that it serves.
    package var peer: String
    /// Where that address is counted; nil for one that is not known, or that many clients are behind.
    package var peerSlots: AddressSlots?
    package var receivedAt: NIODeadline
    /// Whether it names a host that the listener does not serve.
    package var isMisdirected = false
    /// The port that its listener redirects to, for https; nil: it serves.
    package var httpsPort: Int?
    /// The proxy's question that it is; nil: it is to be served.
    package var authorization: ExternalAuthorization?
    package var spoken = ClientProtocol()
    /// The response to a pending challenge of an ACME directory, which nothing else has a say in.
    package var challengeResponse: String?
}

/// Why a connection was not let in.
package enum ConnectionRefusal: String, CaseIterable, Sendable {
    /// The listener has as many as it may.
    case limit = "connection-limit"
    /// The client's address has as many as it may.
    case addressLimit = "address-limit"
    /// A proxy's connection did not begin with a PROXY header that can be believed.
    case proxyHeaderMalformed = "proxy-header-malformed"
    case proxyHeaderTimeout = "proxy-header-timeout"
    /// A TLS handshake that was begun did not succeed, or none came to its end in time.
    case handshakeFailed = "handshake-failed"
}

/// Answers requests on one event loop.
package protocol RequestService: AnyObject {
    /// Takes a request. The parts after the head go to the returned sink.
    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink

    /// The response to bytes that never became a request. Writes the log line of it.
    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer)

    /// A connection was closed before it could carry a request.
    func refuseConnection(_ refusal: ConnectionRefusal, peer: String)

    /// A client's HTTP/2 connection was ended for an error of the client's.
    func connectionFailed(_ error: HTTP2ConnectionError)

    /// A connection was let in, before any handshake, or has gone.
    func connectionOpened()
    func connectionClosed()

    /// An idle connection was closed in favour of a new one.
    func connectionEvicted()

    /// A stream of an HTTP/2 connection was opened or has gone.
    func streamOpened()
    func streamClosed()
}

/// Takes what belongs to a request after its head. Called on the event loop.
package protocol ExchangeSink: AnyObject {
    /// Takes a part of the body.
    ///
    /// - Returns: whether more is wanted now; if not, ``BodyDemand/resume()`` asks for it.
    func receive(_ body: ByteBuffer) -> Bool
    func receiveEnd()
    /// Whether the client keeps up with the response.
    func clientIsWritable(_ isWritable: Bool)
    /// The rest of the request did not come, or not as it must, and the response has not begun: to be answered now.
    func requestFailed(_ fault: ListenerFault)
    /// The connection has gone before the response was complete.
    func clientDisconnected()
    /// The time in which the connection could end by itself is over: a WebSocket is to be closed now.
    func mustClose()
    /// The response is complete, and its client has not taken all of it.
    ///
    /// - Returns: what ends that, to be called once; nil where it is of no interest.
    func responseWaits() -> (() -> Void)?
}

extension ExchangeSink {
    package func mustClose() {}
    package func responseWaits() -> (() -> Void)? { nil }
}

/// The one response to a request. It is used up by answering, so that nothing is answered twice.
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

    /// Begins a response whose body follows. With `101 Switching Protocols` the body is what goes through a WebSocket,
    /// until either side ends; the client's bytes come to the sink as a request's body does.
    package consuming func start(_ head: HTTPResponse) -> ResponseBodyWriter {
        handler.write(.head(head), of: exchange)
        return ResponseBodyWriter(handler, exchange: exchange)
    }

    /// Whether ``start(_:_:requestID:closes:)`` is cheaper than to begin with a list of fields.
    package var sendsLines: Bool { handler.sendsLines }

    /// Begins a response with lines that are passed on.
    ///
    /// - Parameters:
    ///   - requestID: for `X-Request-Id`.
    ///   - closes: whether the connection is of no more use afterwards.
    package consuming func start(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool
    ) -> ResponseBodyWriter {
        handler.writeHead(status, lines, requestID: requestID, closes: closes, of: exchange)
        return ResponseBodyWriter(handler, exchange: exchange)
    }

    /// Lets the sink's refusal of body parts end; to be kept beside the writer.
    package var bodyDemand: BodyDemand { BodyDemand(handler, exchange: exchange) }
}

/// The end of a response that has begun: it is used up by ending, one way or the other.
package struct ResponseBodyWriter: ~Copyable {
    /// Where the body goes until then.
    package let stream: ResponseStream

    init(_ handler: ExchangeHandler, exchange: UInt64) {
        self.stream = ResponseStream(handler, exchange: exchange)
    }

    /// - Parameter trailers: are dropped where the response's framing has no place for them.
    package consuming func end(trailers: HTTPFields? = nil) {
        stream.handler.end(stream.exchange, trailers: trailers)
    }

    /// Ends the connection, so that the client sees an error and not a clean end.
    package consuming func breakOff() {
        stream.handler.breakOff(stream.exchange)
    }
}

/// Takes a response's body. Bytes written after its end are discarded.
///
/// It can be copied, so that it can be used while its owner hears that the client has gone, which a write may find out.
package struct ResponseStream {
    fileprivate let handler: ExchangeHandler
    fileprivate let exchange: UInt64

    fileprivate init(_ handler: ExchangeHandler, exchange: UInt64) {
        self.handler = handler
        self.exchange = exchange
    }

    /// - Returns: whether the client keeps up; if not, ``ExchangeSink/clientIsWritable(_:)`` tells when it does.
    package func write(_ body: ByteBuffer) -> Bool {
        handler.write(.body(body), of: exchange)
    }

    package func flush() {
        handler.flush(exchange)
    }
}

/// Asks for more of a request's body after a sink has said that it wants no more for now.
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
