internal import HTTP1
package import HTTPTypes
package import Listener
package import NIOCore
internal import Pipeline
internal import Upstream

extension Refusal {
    /// The complete response: the head with its length and request id, and the body.
    package func answer(requestID: String) -> (HTTPResponse, ByteBuffer) {
        Self.answer(response, body(requestID: requestID), requestID: requestID)
    }

    static func answer(_ head: HTTPResponse, _ body: [UInt8], requestID: String) -> (HTTPResponse, ByteBuffer) {
        var head = head
        head.headerFields[.contentLength] = String(body.count)
        head.headerFields[.requestID] = requestID
        return (head, ByteBuffer(bytes: body))
    }

    /// Creates the refusal of bytes that are not an acceptable request.
    package init(_ fault: ListenerFault) {
        let error: GatewayError =
            switch fault {
            case .requestTimeout, .requestTooSlow: .requestTimeout
            case .http(.targetTooLong): .uriTooLong
            case .http(.fieldsTooLarge), .http(.tooManyFields): .headersTooLarge
            case .http(.unsupportedVersion): .httpVersionNotSupported
            case .http(.unsupportedTransferCoding): .notImplemented
            case .http(.unsupportedExpectation): .expectationFailed
            case .http: .badRequest
            }
        self.init(error, reason: fault.reason)
    }

    /// Creates the refusal for a backend that gave no response.
    init(_ fault: UpstreamError) {
        switch fault.kind {
        case .broken: self.init(.upstream, reason: .upstream(fault.reason))
        case .slow: self.init(.upstreamTimeout, reason: .upstream(fault.reason))
        case .unavailable(let seconds):
            self = .retryLater(.serviceUnavailable, after: seconds, reason: .upstream(fault.reason))
        }
    }
}
