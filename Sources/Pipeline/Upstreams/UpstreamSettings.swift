package import NIOCore

/// How long is waited for what.
package struct UpstreamTimeouts: Sendable, Equatable {
    package var connect = Duration.seconds(5)
    /// From the last byte of the request sent to the first byte of the response.
    package var firstByte = TimeAmount.seconds(30)
    /// Between two signs of progress while a body goes either way.
    package var idle = TimeAmount.seconds(60)
    /// From the request's head to the response's last byte; nil: no limit.
    package var whole: TimeAmount?

    package init() {}
}

/// One upstream: its servers and how they are talked to.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    /// At least one.
    package var servers: [UpstreamServer]
    package var balance = Balance.roundRobin
    /// Timeouts, which a route may override.
    package var timeouts = UpstreamTimeouts()
    /// How long an unused connection is kept.
    package var keepAlive = TimeAmount.seconds(60)
    /// Unused connections kept for each server and event loop.
    package var maximumIdleConnections = 128
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

    package init(name: String, servers: [UpstreamServer]) {
        self.name = name
        self.servers = servers
    }
}
