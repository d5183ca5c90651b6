internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline

/// A part of a request.
enum RequestPart {
    case head(HTTPRequest)
    case body(ByteBuffer)
    case end
}

/// A part of a response.
enum ResponsePart {
    case head(HTTPResponse)
    case body(ByteBuffer)
    /// With trailers, if any.
    case end(HTTPFields?)
}

/// The codec directly below an ``ExchangeHandler``: decodes and encodes the messages of one connection or stream.
///
/// The two call each other directly. Passing each part through SwiftNIO's pipeline would box and cast it, which costs
/// about 2 % of a proxied request's CPU.
protocol MessageCodec: AnyObject {
    /// The receiver of the request parts; nil once the channel or stream has closed.
    var exchanges: ExchangeHandler? { get set }

    /// Writes a part of the response; the next flush sends it.
    func write(_ part: ResponsePart)

    /// Sends what was written.
    func flush()

    /// Flushes a response that has ended, and then makes the handler's ``ExchangeHandler/settle()`` run.
    func flushEnded()

    /// Resumes reading after ``ExchangeHandler/wantsBody()`` has returned false.
    func resume()

    /// Aborts the connection or stream, so that the client sees an error.
    func breakOff()

    /// Called after the flush of a response that has ended.
    ///
    /// - Returns: whether the client has not taken all of it. If so, ``ExchangeHandler/responseHasLeft()`` is called
    ///   when it has, or when the channel closes.
    func responseWaits() -> Bool

    /// The HTTP version of the current request.
    var httpVersion: ClientProtocol.HTTPVersion { get }

    /// Whether ``writeHead(_:_:requestID:closes:)`` is the cheapest form for a response's head.
    var sendsLines: Bool { get }

    /// Writes a response's head from field lines.
    ///
    /// - Parameters:
    ///   - requestID: the value of `X-Request-Id`.
    ///   - closes: whether the connection must close after the response.
    func writeHead(_ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool)
}
