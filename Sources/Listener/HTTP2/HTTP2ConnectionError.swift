/// The errors that end an HTTP/2 connection, with the error code of the GOAWAY (RFC 9113 §7).
package enum HTTP2ConnectionError: UInt32, CaseIterable, Sendable {
    case protocolError = 1
    case internalError
    case flowControlError
    case settingsTimeout
    case streamClosed
    case frameSizeError
    case refusedStream
    case cancel
    case compressionError
    case connectError
    case enhanceYourCalm
    case inadequateSecurity
    case http11Required

    /// The name for metrics.
    package var name: String {
        switch self {
        case .protocolError: "protocol-error"
        case .internalError: "internal-error"
        case .flowControlError: "flow-control-error"
        case .settingsTimeout: "settings-timeout"
        case .streamClosed: "stream-closed"
        case .frameSizeError: "frame-size-error"
        case .refusedStream: "refused-stream"
        case .cancel: "cancel"
        case .compressionError: "compression-error"
        case .connectError: "connect-error"
        case .enhanceYourCalm: "enhance-your-calm"
        case .inadequateSecurity: "inadequate-security"
        case .http11Required: "http-1-1-required"
        }
    }
}
