internal import Curl
package import NIOCore

/// One backend and how it is talked to.
package struct UpstreamSettings: Sendable {
    package var name: String
    /// Scheme, host and port, without a path.
    package var url: String
    package var connectTimeout: Duration
    /// From the last byte of the request sent to the first byte of the response.
    package var firstByteTimeout: TimeAmount
    /// Between two signs of progress while a body goes either way.
    package var idleTimeout: TimeAmount
    /// How long an unused connection is kept.
    package var keepAlive: TimeAmount
    /// Unused connections kept per event loop.
    package var maximumIdleConnections: Int

    package init(
        name: String, url: String, connectTimeout: Duration = .seconds(5), firstByteTimeout: TimeAmount = .seconds(30),
        idleTimeout: TimeAmount = .seconds(60), keepAlive: TimeAmount = .seconds(60), maximumIdleConnections: Int = 128
    ) {
        self.name = name
        self.url = url
        self.connectTimeout = connectTimeout
        self.firstByteTimeout = firstByteTimeout
        self.idleTimeout = idleTimeout
        self.keepAlive = keepAlive
        self.maximumIdleConnections = maximumIdleConnections
    }

    var target: CurlTarget { CurlTarget(url: url, connectTimeout: connectTimeout) }
}

/// Why a backend gave no complete response.
package enum UpstreamFault: Error, Equatable, Sendable {
    /// No connection: refused, unresolvable, TLS failed. The text is libcurl's own.
    case cannotConnect(String)
    case connectTimeout
    /// Nothing came within the first-byte time-out.
    case firstByteTimeout
    /// Neither direction moved within the idle time-out.
    case idleTimeout
    /// The connection ended or failed before the response was complete.
    case connectionLost
    /// The response breaks HTTP/1.1; the text is the reason code.
    case protocolFault(String)

    /// Whether the backend was slow, as opposed to broken: 504 rather than 502.
    package var isTimeout: Bool {
        switch self {
        case .connectTimeout, .firstByteTimeout, .idleTimeout: true
        case .cannotConnect, .connectionLost, .protocolFault: false
        }
    }

    /// The reason code for logs and metrics.
    package var reason: String {
        switch self {
        case .cannotConnect: "upstream-unreachable"
        case .connectTimeout: "upstream-connect-timeout"
        case .firstByteTimeout: "upstream-first-byte-timeout"
        case .idleTimeout: "upstream-idle-timeout"
        case .connectionLost: "upstream-connection-lost"
        case .protocolFault: "upstream-protocol-fault"
        }
    }
}
