/// The settings of a server's health checks.
package struct HealthCheckSettings: Sendable, Equatable {
    package var path: String
    package var interval: Duration
    package var timeout: Duration
    /// The number of consecutive good responses that makes an unhealthy server healthy.
    package var healthyAfter: Int
    /// The number of consecutive bad or missing responses that makes a healthy server unhealthy.
    package var unhealthyAfter: Int

    package init(
        path: String, interval: Duration = .seconds(5), timeout: Duration = .seconds(2), healthyAfter: Int = 2,
        unhealthyAfter: Int = 3
    ) {
        self.path = path
        self.interval = interval
        self.timeout = timeout
        self.healthyAfter = healthyAfter
        self.unhealthyAfter = unhealthyAfter
    }
}
