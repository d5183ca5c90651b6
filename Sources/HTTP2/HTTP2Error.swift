internal import CNghttp2

/// The errors that end an HTTP/2 stream or connection, with the error code of RST_STREAM and GOAWAY (RFC 9113 §7).
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

    /// Returns the error for a connection that libnghttp2 could not end itself.
    init(libraryError: Int) {
        switch nghttp2_error(Int32(clamping: libraryError)) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC: self = .protocolError
        // A callback fails only if the receiver rejects the connection's excessive fields.
        case NGHTTP2_ERR_FLOODED, NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, NGHTTP2_ERR_TOO_MANY_SETTINGS,
            NGHTTP2_ERR_CALLBACK_FAILURE:
            self = .enhanceYourCalm
        default: self = .internalError
        }
    }
}
