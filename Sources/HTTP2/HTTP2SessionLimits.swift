internal import CNghttp2

/// The limits that a session announces to its client, or ends its connection for. Each of libnghttp2's own is set,
/// whatever the library's default is.
package struct HTTP2SessionLimits: Sendable {
    /// Streams open at once (SETTINGS_MAX_CONCURRENT_STREAMS).
    package var streams: Int
    /// Bytes of a request's fields (SETTINGS_MAX_HEADER_LIST_SIZE). It is announced, and the receiver's to enforce.
    package var headerListSize: Int
    /// Bytes of bodies that may come ahead on the connection.
    package var connectionWindow: Int
    /// CONTINUATION frames of one header block. One whose header comes in parts counts once for each.
    package var continuationFrames: Int
    /// RST_STREAM frames that may come at once, and how many more every second.
    package var resets: Int
    package var resetsPerSecond: Int
    /// Acknowledgements of PING and SETTINGS that wait to be sent.
    package var unsentAcknowledgements = 200
    /// Entries of one SETTINGS frame.
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
        // Windows are opened by the receiver: the connection's when bytes come, a stream's when they are used.
        nghttp2_option_set_no_auto_window_update(options, 1)
        // Heads are checked by the receiver, byte by byte and with a reason for its log. libnghttp2's checks would only
        // reset their streams.
        nghttp2_option_set_no_http_messaging(options, 1)
        nghttp2_option_set_no_recv_client_magic(options, 0)
        nghttp2_option_set_no_auto_ping_ack(options, 0)
        // Neither pushes nor requests of the gateway's.
        nghttp2_option_set_peer_max_concurrent_streams(options, 0)
        nghttp2_option_set_max_reserved_remote_streams(options, 0)
        // A closed stream is forgotten, and priorities (RFC 9113 §5.3) with it.
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

    /// The first SETTINGS frame.
    var announced: [nghttp2_settings_entry] {
        func entry(_ setting: nghttp2_settings_id, _ value: Int) -> nghttp2_settings_entry {
            nghttp2_settings_entry(settings_id: Int32(setting.rawValue), value: UInt32(clamping: value))
        }
        return [
            entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams),
            entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, headerListSize),
            // RFC 8441 §3: WebSockets may be opened on a stream.
            entry(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1),
            // RFC 9218 §2.1: the scheme of priorities that RFC 9113 abandoned is of no use here.
            entry(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1),
        ]
    }
}
