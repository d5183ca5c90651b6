internal import CNghttp2

/// The limits that a session announces to its client or enforces. Each limit of libnghttp2 is set explicitly,
/// independent of the library's defaults.
package struct HTTP2SessionLimits: Sendable {
    /// The most concurrent streams (SETTINGS_MAX_CONCURRENT_STREAMS).
    package var streams: Int
    /// The bytes of a request's fields (SETTINGS_MAX_HEADER_LIST_SIZE). The session announces it; the receiver enforces
    /// it.
    package var headerListSize: Int
    /// The connection's flow-control window in bytes.
    package var connectionWindow: Int
    /// The most CONTINUATION frames of one header block. A frame whose header arrives in parts counts once for each
    /// part.
    package var continuationFrames: Int
    /// The RST_STREAM frames that may arrive at once; `resetsPerSecond` more are allowed every second.
    package var resets: Int
    package var resetsPerSecond: Int
    /// The most unsent acknowledgements of PING and SETTINGS.
    package var unsentAcknowledgements = 200
    /// The most entries of one SETTINGS frame.
    package var settings = 32

    package init(
        streams: Int = 100, headerListSize: Int = 32 << 10, connectionWindow: Int = 1 << 20,
        continuationFrames: Int = 8, resets: Int = 200, resetsPerSecond: Int = 7
    ) {
        self.streams = streams
        self.headerListSize = headerListSize
        self.connectionWindow = connectionWindow
        self.continuationFrames = continuationFrames
        self.resets = resets
        self.resetsPerSecond = resetsPerSecond
    }

    /// Calls `body` with libnghttp2's options for these limits.
    func withOptions<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
        var made: OpaquePointer?
        guard nghttp2_option_new(&made) == 0, let options = made else { return nil }
        defer { nghttp2_option_del(options) }
        // Windows are extended explicitly: the connection's when bytes arrive, a stream's when they are used.
        nghttp2_option_set_no_auto_window_update(options, 1)
        // The receiver validates heads, byte by byte and with a reason for its log. libnghttp2's checks would only
        // reset their streams.
        nghttp2_option_set_no_http_messaging(options, 1)
        nghttp2_option_set_no_recv_client_magic(options, 0)
        nghttp2_option_set_no_auto_ping_ack(options, 0)
        // The gateway neither pushes nor sends requests.
        nghttp2_option_set_peer_max_concurrent_streams(options, 0)
        nghttp2_option_set_max_reserved_remote_streams(options, 0)
        // Closed streams are not kept, nor are priorities (RFC 9113 §5.3).
        nghttp2_option_set_no_closed_streams(options, 1)
        nghttp2_option_set_server_fallback_rfc7540_priorities(options, 0)
        nghttp2_option_set_max_send_header_block_length(options, 1 << 18)
        nghttp2_option_set_max_deflate_dynamic_table_size(options, 4096)
        nghttp2_option_set_max_outbound_ack(options, unsentAcknowledgements)
        nghttp2_option_set_max_settings(options, settings)
        nghttp2_option_set_stream_reset_rate_limit(options, UInt64(max(0, resets)), UInt64(max(0, resetsPerSecond)))
        nghttp2_option_set_max_continuations(options, continuationFrames)
        return body(options)
    }

    /// The entries of the first SETTINGS frame.
    var announced: [nghttp2_settings_entry] {
        func entry(_ setting: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
            nghttp2_settings_entry(settings_id: Int32(setting.rawValue), value: UInt32(clamping: value))
        }
        return [
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headerListSize),
            // RFC 8441 §3: a stream may become a WebSocket.
            entry(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1),
            // RFC 9218 §2.1: the priority scheme deprecated by RFC 9113 is not used.
            entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
    }
}
