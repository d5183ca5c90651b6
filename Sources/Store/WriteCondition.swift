internal import GRDB
internal import Locking

/// Whether a database takes writes, as the last ones tell.
///
/// A write that fails for the database's sake says at once that it does not. That it does again only a trial says,
/// which writes like them: what a full disk refuses to one it may still take from another.
final class WriteCondition: Sendable {
    private struct State {
        var error: String?
        var trialBegan: ContinuousClock.Instant?
    }

    /// After how long a trial that has not ended has failed. SQLite's own waiting ends before.
    static let longestTrial = Duration.seconds(3)

    private let state = Locked(State())

    /// Why nothing can be written; names no file.
    func error(now: ContinuousClock.Instant) -> String? {
        state.withLock { state in
            if let error = state.error { return error }
            guard let began = state.trialBegan, now - began > Self.longestTrial else { return nil }
            return StoreError.noResponse.description
        }
    }

    func writeFailed(_ error: any Error) {
        guard let error = Self.error(error) else { return }
        state.withLock { $0.error = error }
    }

    /// - Returns: whether it failed last, so that the trial is to write as well.
    func trialBegins(now: ContinuousClock.Instant) -> Bool {
        state.withLock {
            $0.trialBegan = now
            return $0.error != nil
        }
    }

    /// - Parameter hasWritten: what was not written to says nothing of an earlier failure.
    func trialSucceeded(hasWritten: Bool) {
        state.withLock {
            $0.trialBegan = nil
            if hasWritten { $0.error = nil }
        }
    }

    func trialFailed(_ error: any Error) {
        state.withLock {
            $0.trialBegan = nil
            if let error = Self.error(error) { $0.error = error }
        }
    }

    /// Nil for what is the fault of what was written, or of nobody.
    private static func error(_ error: any Error) -> String? {
        switch error {
        case let error as DatabaseError where ofDatabase.contains(error.resultCode):
            "\(error.message ?? "it fails") (SQLite \(error.resultCode.rawValue))"
        case StoreError.noResponse: StoreError.noResponse.description
        case StoreError.fileIsGone: StoreError.fileIsGone.description
        case is LogSync.SystemError: "the disk does not take what is written"
        default: nil
        }
    }

    private static let ofDatabase: [ResultCode] = [
        .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_CORRUPT,
        .SQLITE_NOTADB, .SQLITE_PERM, .SQLITE_PROTOCOL,
    ]
}
