internal import NIOCore
package import Pipeline
internal import SettingsReader

/// The limits on the time and memory that a client may use.
package struct LimitSettings: Sendable {
    /// For a PROXY header, and then for a TLS handshake.
    package var handshakeTimeout: Duration
    /// From a request's first byte (or the connection's start) to the end of its head.
    package var headerTimeout: Duration
    /// Between two reads of a request's body.
    package var bodyIdleTimeout: Duration
    /// How long a connection may wait for its next request.
    package var keepAliveTimeout: Duration
    /// A request's header lines together, in bytes.
    package var headerBytes: Int
    /// One header line, in bytes.
    package var headerLineBytes: Int
    package var headerCount: Int
    /// Method, target and version together, in bytes.
    package var requestLineBytes: Int
    /// A bearer token, in bytes; longer ones are refused unread.
    package var tokenBytes: Int
    /// Open connections of clients to one listener, all event loops together.
    package var connections: Int
    /// Those of one client's address, of IPv6 of a /64.
    package var connectionsPerAddress: Int
    /// Requests whose response has not ended, all event loops together; more are told 503 at once.
    package var requests: Int
    /// Those of one client's address, of IPv6 of a /64; more are told 429 at once.
    package var requestsPerAddress: Int
    /// Bytes a second that a request's head, and its body, must come with; 0: at any rate.
    package var minimumRate: Int
    /// For how long one may come slower, or not at all.
    package var minimumRateGrace: Duration
    /// Revocations that are held in memory; more are refused.
    package var revocations: Int
    package var http2: HTTP2Limits
}

extension LimitSettings {
    init(reading keys: SettingsMapping) {
        handshakeTimeout = keys.value("handshake_timeout", .wait, default: .seconds(10))
        headerTimeout = keys.value("header_timeout", .wait, default: .seconds(10))
        bodyIdleTimeout = keys.value("body_idle_timeout", .wait, default: .seconds(30))
        keepAliveTimeout = keys.value("keep_alive_timeout", .wait, default: .seconds(75))
        headerBytes = keys.value("header_bytes", .size(1024...(1 << 20)), default: 32 << 10)
        let line = keys.optional("header_line_bytes")
        headerLineBytes = line?.read(.size(256...(1 << 20))) ?? min(16 << 10, headerBytes)
        if headerLineBytes > headerBytes { line?.refuse("must not be larger than header_bytes") }
        headerCount = keys.value("header_count", .integer(1...10_000), default: 100)
        requestLineBytes = keys.value("request_line_bytes", .size(256...(1 << 20)), default: 8 << 10)
        tokenBytes = keys.value("token_bytes", .size(512...(1 << 16)), default: 8 << 10)
        connections = keys.value("connections", .integer(1...10_000_000), default: 10_000)
        requests = keys.value("requests", .integer(1...10_000_000), default: 10_000)
        connectionsPerAddress =
            keys.optional("connections_per_address")?.read(.integer(1...10_000_000)) ?? Self.share(of: connections)
        requestsPerAddress =
            keys.optional("requests_per_address")?.read(.integer(1...10_000_000)) ?? Self.share(of: requests)
        minimumRate = keys.value("minimum_rate", .integer(0...1_000_000_000), default: 500)
        minimumRateGrace = keys.value("minimum_rate_grace", .wait, default: .seconds(30))
        revocations = keys.value("revocations", .integer(1...10_000_000), default: 250_000)
        http2 = keys.section("http2", HTTP2Limits.init(reading:))
    }

    /// Much for all who share an address, as behind a carrier's NAT, and too little to keep others out.
    private static func share(of all: Int) -> Int { (all + 3) / 4 }
}

extension HTTP2Limits {
    init(reading keys: SettingsMapping) {
        self.init()
        streams = keys.value("streams", .integer(1...100_000), default: streams)
        resets = keys.value("resets", .integer(1...1_000_000), default: resets)
        resetWindow = TimeAmount(keys.value("reset_window", .wait, default: .seconds(30)))
        continuationFrames = keys.value("continuation_frames", .integer(1...1000), default: continuationFrames)
    }
}
