internal import Glibc
internal import Logging

/// Passes the records of loggers to an ``ApplicationLog``.
struct ApplicationLogHandler: LogHandler {
    private let log: ApplicationLog
    private let level: SharedLogLevel
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(_ log: ApplicationLog, level: SharedLogLevel, provider: Logger.MetadataProvider? = nil) {
        self.log = log
        self.level = level
        metadataProvider = provider
    }

    var logLevel: Logger.Level {
        get { level.value }
        set { level.value = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        log.record(
            ApplicationRecord(
                time: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000, level: event.level,
                message: "\(event.message)", metadata: all))
        if event.level >= .error { log.hurry() }
    }
}
