import Foundation

/// When the next refresh may be tried after failures: after `Retry-After`, or after 1 s, 2 s, … up to 5 min with
/// jitter, so that apps do not return all at once.
struct RetryGate {
    private static let longest: TimeInterval = 300
    private(set) var failures = 0
    private var opensAt: TimeInterval = 0
    private(set) var error: GatehouseError?

    /// - Parameters:
    ///   - retryAfter: seconds, as the gateway said.
    ///   - jitter: from 0 to 1.
    mutating func failed(_ error: GatehouseError, retryAfter: TimeInterval?, uptime: TimeInterval, jitter: Double) {
        failures += 1
        self.error = error
        let backOff = min(Self.longest, pow(2, Double(min(failures - 1, 9))))
        // "Equal jitter": at least half of the time passes.
        let own = max(1, backOff * (0.5 + jitter / 2))
        opensAt = uptime + max(own, min(retryAfter ?? 0, 3600))
    }

    mutating func succeeded() { self = RetryGate() }

    /// The error of the last try; nil if another may be made.
    func closed(at uptime: TimeInterval) -> GatehouseError? { uptime < opensAt ? error : nil }
}
