package import Pipeline

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
