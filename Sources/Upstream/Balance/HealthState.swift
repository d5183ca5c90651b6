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

extension HealthCheckSettings {
    /// Whether an answer with this status says that a server is well.
    package static func isGood(status: Int) -> Bool { HealthState.isGood(status: status) }
}

/// A server's health by its last checks in a row. It keeps its previous state until enough of them disagree.
struct HealthState: Sendable {
    private let healthyAfter: Int
    private let unhealthyAfter: Int
    private(set) var isHealthy: Bool
    /// Checks in a row that say the opposite.
    private var opposed = 0

    init(healthyAfter: Int, unhealthyAfter: Int, isHealthy: Bool = true) {
        self.isHealthy = isHealthy
        self.healthyAfter = healthyAfter
        self.unhealthyAfter = unhealthyAfter
    }

    /// - Returns: whether the server's health has changed.
    mutating func checked(isGood: Bool) -> Bool {
        guard isGood != isHealthy else {
            opposed = 0
            return false
        }
        opposed += 1
        guard opposed >= (isHealthy ? unhealthyAfter : healthyAfter) else { return false }
        isHealthy = isGood
        opposed = 0
        return true
    }

    /// 2xx and 3xx: the server answers and does not complain.
    static func isGood(status: Int) -> Bool { (200..<400).contains(status) }
}
