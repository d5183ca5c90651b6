package import Logging

/// Logs when the gateway is ready for the first time, and once the reason if it is not ready after 5 s.
package struct ReadinessLog {
    /// Returns the readiness, and the issuers that have no key set.
    let ask: @Sendable () -> (report: ReadinessReport, issuersWithoutKeys: [String])
    /// Returns the time since the start.
    let elapsed: @Sendable () -> Duration
    let logger: Logger
    var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    private static let patience = Duration.seconds(5)
    private static let (often, seldom) = (Duration.milliseconds(10), Duration.seconds(1))

    package init(
        elapsed: @escaping @Sendable () -> Duration, logger: Logger,
        ask: @escaping @Sendable () -> (report: ReadinessReport, issuersWithoutKeys: [String])
    ) {
        self.ask = ask
        self.elapsed = elapsed
        self.logger = logger
    }

    /// Runs until the gateway is ready, or the task is cancelled.
    package func run() async {
        var hasReported = false
        while !Task.isCancelled {
            let (report, issuers) = ask()
            if report.isReady {
                return logger.info("ready", metadata: ["milliseconds": .stringConvertible(milliseconds)])
            }
            if !hasReported, elapsed() >= Self.patience {
                hasReported = true
                self.report(report, issuers)
            }
            do { try await sleep(hasReported ? Self.seldom : Self.often) } catch { return }
        }
    }

    private func report(_ report: ReadinessReport, _ issuers: [String]) {
        let reason = report.text.split(separator: "\n").joined(separator: "; ")
        var metadata: Logger.Metadata = ["milliseconds": .stringConvertible(milliseconds), "reason": "\(reason)"]
        if !issuers.isEmpty { metadata["issuers"] = "\(issuers.joined(separator: " "))" }
        logger.notice("not ready yet", metadata: metadata)
    }

    private var milliseconds: Int { Int(elapsed() / .milliseconds(1)) }
}
