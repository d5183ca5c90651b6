/// How a server's health is asked for.
package struct HealthCheckSettings: Sendable, Equatable {
    package var path: String
    package var interval: Duration
    package var timeout: Duration
    /// Good answers in a row that make an unhealthy server healthy.
    package var healthyAfter: Int
    /// Bad or missing answers in a row that make a healthy server unhealthy.
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
