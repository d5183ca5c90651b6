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

/// The handler right below an ``ExchangeHandler``: the messages of one connection or stream, into wire form and out of
/// it.
///
/// The two call each other directly. SwiftNIO's own way from one handler to the next puts every part of a message into
/// a box and casts it out of it again, about 2 % of a proxied request's CPU.
protocol MessageCodec: AnyObject {
    /// Takes the parts of requests. Let go when the channel is done with.
    var exchanges: ExchangeHandler? { get set }

    /// Takes a part of the response; the channel's next flush sends it.
    func write(_ part: ResponsePart)

    /// Sends what was written.
    func flush()

    /// A response has ended: sends what was written, and then has ``ExchangeHandler/settle()`` called.
    func flushEnded()

    /// The service wants the client's bytes again, after ``ExchangeHandler/wantsBody()`` said no.
    func resume()

    /// Ends the connection or stream, so that the client sees an error.
    func breakOff()

    /// A response has ended and was flushed.
    ///
    /// - Returns: whether the client has not taken all of it. ``ExchangeHandler/responseHasLeft()`` is called when it
    ///   has; it may also go with the channel.
    func responseWaits() -> Bool

    /// Of the request that is being received.
    var httpVersion: ClientProtocol.HTTPVersion { get }

    /// Whether a response's head goes out as lines, so that these are the cheapest form to have it in.
    var sendsLines: Bool { get }

    /// Takes a response's head in that form.
    ///
    /// - Parameters:
    ///   - requestID: for `X-Request-Id`.
    ///   - closes: whether the connection is of no more use afterwards.
    func writeHead(_ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool)
}
