package import Pipeline

extension HealthCheckSettings {
    /// Whether a response with this status counts as healthy.
    package static func isGood(status: Int) -> Bool { HealthState.isGood(status: status) }
}

/// A server's health, by its last consecutive checks. The state changes only after enough consecutive checks contradict
/// it.
struct HealthState: Sendable {
    private let healthyAfter: Int
    private let unhealthyAfter: Int
    private(set) var isHealthy: Bool
    /// The number of consecutive checks that contradict the state.
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

    /// Whether the status is 2xx or 3xx.
    static func isGood(status: Int) -> Bool { (200..<400).contains(status) }
}
