package import Curl
package import NIOCore

/// One of an upstream's servers.
package struct UpstreamServer: Sendable, Equatable {
    /// How metrics and logs call it; the same in every process, since subjects are hashed onto it.
    package var name: String
    /// Scheme, host and port, without a path.
    package var url: String
    /// Its part of the requests beside the others', from 1.
    package var weight: Int
    /// How it is reached beyond its URL.
    package var access: CurlAccess

    /// The host that requests name: `host`, or `host:port` if the port is not the scheme's default.
    package var authority: String {
        guard let slashes = url.utf8.firstRange(of: "://".utf8) else { return url }
        return String(Substring(url.utf8[slashes.upperBound...].prefix { $0 != UInt8(ascii: "/") }))
    }

    package init(name: String? = nil, url: String, weight: Int = 1, access: CurlAccess = CurlAccess()) {
        self.name = name ?? url
        self.url = url
        self.weight = weight
        self.access = access
    }
}

/// How long is waited for what.
package struct UpstreamTimeouts: Sendable, Equatable {
    package var connect: Duration
    /// From the last byte of the request sent to the first byte of the response.
    package var firstByte: TimeAmount
    /// Between two signs of progress while a body goes either way.
    package var idle: TimeAmount
    /// From the request's head to the response's last byte; nil: no limit.
    package var whole: TimeAmount?

    package init(
        connect: Duration = .seconds(5), firstByte: TimeAmount = .seconds(30), idle: TimeAmount = .seconds(60),
        whole: TimeAmount? = nil
    ) {
        self.connect = connect
        self.firstByte = firstByte
        self.idle = idle
        self.whole = whole
    }
}

/// One upstream: its servers and how they are talked to.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    /// At least one.
    package var servers: [UpstreamServer]
    package var balance = Balance.roundRobin
    /// Timeouts, which a route may override.
    package var timeouts: UpstreamTimeouts
    /// How long an unused connection is kept.
    package var keepAlive: TimeAmount
    /// Unused connections kept for each server and event loop.
    package var maximumIdleConnections: Int
    /// How old a connection gets before a new one takes its place, which resolves the server's name again.
    package var maximumAge = TimeAmount.minutes(5)
    /// Requests in flight, and with them connections, for each server and event loop.
    package var maximumConnections = 1024
    /// Requests that may wait for a connection, for each server and event loop.
    package var maximumWaiting = 4096
    /// How long they may.
    package var waitingTimeout = TimeAmount.seconds(5)
    /// Retries for 100 requests.
    package var retryPercent = 10
    package var ejection = EjectionPolicy()
    package var healthCheck: HealthCheckSettings?

    package init(
        name: String, servers: [UpstreamServer], timeouts: UpstreamTimeouts = UpstreamTimeouts(),
        keepAlive: TimeAmount = .seconds(60), maximumIdleConnections: Int = 128
    ) {
        self.name = name
        self.servers = servers
        self.timeouts = timeouts
        self.keepAlive = keepAlive
        self.maximumIdleConnections = maximumIdleConnections
    }

    /// An upstream of one server.
    package init(
        name: String, url: String, connectTimeout: Duration = .seconds(5), firstByteTimeout: TimeAmount = .seconds(30),
        idleTimeout: TimeAmount = .seconds(60), keepAlive: TimeAmount = .seconds(60), maximumIdleConnections: Int = 128
    ) {
        self.init(
            name: name, servers: [UpstreamServer(url: url)],
            timeouts: UpstreamTimeouts(connect: connectTimeout, firstByte: firstByteTimeout, idle: idleTimeout),
            keepAlive: keepAlive, maximumIdleConnections: maximumIdleConnections)
    }

    package var connectTimeout: Duration {
        get { timeouts.connect }
        set { timeouts.connect = newValue }
    }
    package var firstByteTimeout: TimeAmount {
        get { timeouts.firstByte }
        set { timeouts.firstByte = newValue }
    }
    package var idleTimeout: TimeAmount {
        get { timeouts.idle }
        set { timeouts.idle = newValue }
    }
}
