import Logging
import Synchronization

/// The least level that is logged, which a reload can change under loggers that are in use.
final class SharedLogLevel: Sendable {
    private let level: Mutex<Logger.Level>

    init(_ level: Logger.Level) {
        self.level = Mutex(level)
    }

    var value: Logger.Level {
        get { level.withLock { $0 } }
        set { level.withLock { $0 = newValue } }
    }
}

/// Writes to standard error what a ``SharedLogLevel`` lets through.
struct SharedLevelLogHandler: LogHandler {
    private var stream: StreamLogHandler
    private let level: SharedLogLevel

    init(label: String, level: SharedLogLevel) {
        stream = StreamLogHandler.standardError(label: label)
        stream.logLevel = .trace
        self.level = level
    }

    var logLevel: Logger.Level {
        get { level.value }
        set { level.value = newValue }
    }

    var metadata: Logger.Metadata {
        get { stream.metadata }
        set { stream.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { stream[metadataKey: key] }
        set { stream[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { stream.log(event: event) }
}
