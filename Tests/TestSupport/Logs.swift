package import Logging
import Synchronization

/// Everything that was logged, as text.
package final class CapturedLog: Sendable {
    private let captured = Mutex<[String]>([])

    package init() {}

    package var lines: [String] { captured.withLock { $0 } }

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(log: self) }
    }

    private func append(_ line: String) {
        captured.withLock { $0.append(line) }
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.append("\(event.level) \(event.message) \(event.metadata ?? [:])")
        }
    }
}

/// A log of which only the warnings, or what the test wants, are kept, each with what it names.
package struct WarningLog: LogHandler {
    private final class Lines: Sendable {
        let lines = Mutex<[String]>([])
    }

    private let kept = Lines()

    package init() {}

    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .warning
    package var warnings: [String] { kept.lines.withLock { $0 } }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let named = (event.metadata?["dropped"] ?? event.metadata?["reason"]).map { ": \($0)" } ?? ""
        kept.lines.withLock { $0.append("\(event.message)\(named)") }
    }
}
