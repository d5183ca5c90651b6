package import Logging

/// Reports in the gateway's own log when lines of a log are lost, and when none are any more. Losses of its own lines
/// are in the metrics.
package final class LogWatch: Sendable {
    private static let interval = Duration.seconds(2)
    /// For so many looks none must be lost before it is over: a disk that is full may have room for a line now and
    /// then.
    private static let quietLooks = 3

    private struct Loss {
        /// When it began.
        var countBefore: Int
        var countLast: Int
        var quietLooks = 0
    }

    let logger: Logger
    /// How many lines each log has lost since the start.
    let lost: @Sendable () -> [(log: String, count: Int)]

    package init(logger: Logger, lost: @escaping @Sendable () -> [(log: String, count: Int)]) {
        self.logger = logger
        self.lost = lost
    }

    /// Until cancelled.
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
