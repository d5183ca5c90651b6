package import Logging

/// Reports in the application log when lines of a log are being lost, and when the losses have stopped. Lost lines of
/// the application log itself are also in the metrics.
package final class LogWatch: Sendable {
    private static let interval = Duration.seconds(2)
    /// The number of consecutive checks without losses after which they have stopped. A full disk may accept a line now
    /// and then.
    private static let quietLooks = 3

    private struct Loss {
        /// The number of lost lines when the losses began.
        var countBefore: Int
        var countLast: Int
        var quietLooks = 0
    }

    let logger: Logger
    /// Returns the number of lines that each log has lost since the start.
    let lost: @Sendable () -> [(log: String, count: Int)]

    package init(logger: Logger, lost: @escaping @Sendable () -> [(log: String, count: Int)]) {
        self.logger = logger
        self.lost = lost
    }

    /// Runs until the task is cancelled.
    package func run() async {
        var counts: [String: Int] = [:]
        var losses: [String: Loss] = [:]
        while !Task.isCancelled {
            for (log, count) in lost() {
                let before = counts.updateValue(count, forKey: log) ?? 0
                look(log, count, before: before, &losses[log])
            }
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }

    private func look(_ log: String, _ count: Int, before: Int, _ loss: inout Loss?) {
        guard var current = loss else {
            guard count > before else { return }
            loss = Loss(countBefore: before, countLast: count)
            return logger.error(
                "lines of a log cannot be written, or not in time",
                metadata: ["log": "\(log)", "lost": .stringConvertible(count - before)])
        }
        current.quietLooks = count > current.countLast ? 0 : current.quietLooks + 1
        current.countLast = count
        loss = current.quietLooks < Self.quietLooks ? current : nil
        guard loss == nil else { return }
        logger.notice(
            "lines of a log are written again",
            metadata: ["log": "\(log)", "lost": .stringConvertible(count - current.countBefore)])
    }
}
