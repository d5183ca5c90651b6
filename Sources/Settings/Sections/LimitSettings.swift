internal import NIOCore
package import Pipeline
internal import SettingsReader

/// The limits on the time and memory that clients may use.
package struct LimitSettings: Sendable {
    /// The time limit of a PROXY header, and then of a TLS handshake.
    package var handshakeTimeout: Duration
    /// The time limit from a request's first byte (or the connection's start) to the end of its head.
    package var headerTimeout: Duration
    /// The maximum time between two reads of a request's body.
    package var bodyIdleTimeout: Duration
    /// The maximum time that a connection may wait for its next request.
    package var keepAliveTimeout: Duration
    /// The maximum size of all header lines of a request, in bytes.
    package var headerBytes: Int
    /// The maximum size of one header line, in bytes.
    package var headerLineBytes: Int
    package var headerCount: Int
    /// The maximum size of method, target and version together, in bytes.
    package var requestLineBytes: Int
    /// The maximum size of a bearer token, in bytes; longer tokens are rejected without parsing.
    package var tokenBytes: Int
    /// The maximum number of open client connections to one listener, over all event loops.
    package var connections: Int
    /// The maximum number of connections per client address (IPv6: per /64).
    package var connectionsPerAddress: Int
    /// The maximum number of requests in progress, over all event loops; further requests get 503 at once.
    package var requests: Int
    /// The maximum number of requests in progress per client address (IPv6: per /64); further requests get 429 at once.
    package var requestsPerAddress: Int
    /// The minimum rate of a request's head and of its body, in bytes per second; 0: no minimum.
    package var minimumRate: Int
    /// The time for which a request may be slower than the minimum rate, or pause.
    package var minimumRateGrace: Duration
    /// The maximum number of revocations in memory; further ones are refused.
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

    /// A quarter: large for clients that share an address behind a carrier's NAT, too small to starve the others.
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
