package import NIOCore

/// The timeouts of an upstream.
package struct UpstreamTimeouts: Sendable, Equatable {
    package var connect = Duration.seconds(5)
    /// From the last byte of the request sent to the first byte of the response.
    package var firstByte = TimeAmount.seconds(30)
    /// Between two signs of progress while a body is sent in either direction.
    package var idle = TimeAmount.seconds(60)
    /// From the request's head to the response's last byte; nil for no limit.
    package var whole: TimeAmount?

    package init() {}
}

/// One upstream: its servers and the settings for their connections.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    /// At least one.
    package var servers: [UpstreamServer]
    package var balance = Balance.roundRobin
    /// Timeouts, which a route may override.
    package var timeouts = UpstreamTimeouts()
    /// The time for which an unused connection is kept.
    package var keepAlive = TimeAmount.seconds(60)
    /// The maximum number of unused connections for each server and event loop.
    package var maximumIdleConnections = 128
    /// The age at which a new connection replaces an old one, which resolves the server's name again.
    package var maximumAge = TimeAmount.minutes(5)
    /// The maximum number of requests in flight, and with them connections, for each server and event loop.
    package var maximumConnections = 1024
    /// The maximum number of requests that wait for a connection, for each server and event loop.
    package var maximumWaiting = 4096
    /// The maximum time that a request waits.
    package var waitingTimeout = TimeAmount.seconds(5)
    /// The maximum number of retries per 100 requests.
    package var retryPercent = 10
    package var ejection = EjectionPolicy()
    package var healthCheck: HealthCheckSettings?

    package init(name: String, servers: [UpstreamServer]) {
        self.name = name
        self.servers = servers
    }
}
