internal import CNghttp2

/// The errors that an HTTP/2 stream or connection is ended with, by the number that RST_STREAM and GOAWAY carry
/// (RFC 9113 §7).
package enum HTTP2Error: UInt32, CaseIterable, Sendable {
    case noError
    case protocolError
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

    package var code: UInt32 { rawValue }

    /// The error that a connection ends with when libnghttp2 could not end it itself.
    init(libraryError: Int) {
        switch nghttp2_error(Int32(clamping: libraryError)) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC: self = .protocolError
        // A receiver that lets a connection not go on has had enough of it.
        case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, NGHTTP2_ERR_TOO_MANY_SETTINGS,
            NGHTTP2_ERR_CALLBACK_FAILURE:
            self = .enhanceYourCalm
        default: self = .internalError
        }
    }
}
