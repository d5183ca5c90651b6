internal import Logging
internal import Synchronization

/// The minimum level that is logged. It can be changed while loggers are in use.
final class SharedLogLevel: Sendable {
    private let level: Atomic<Int>

    init(_ level: Logger.Level) {
        self.level = Atomic(Self.number(level))
    }

    var value: Logger.Level {
        get { Logger.Level.allCases[level.load(ordering: .relaxed)] }
        set { level.store(Self.number(newValue), ordering: .relaxed) }
    }

    private static func number(_ level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}
