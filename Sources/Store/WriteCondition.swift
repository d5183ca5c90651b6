internal import GRDB
internal import Locking

/// Whether a database accepts writes, according to the last ones.
///
/// A write that fails because of the database shows at once that it does not. Only a trial, which writes in the same
/// way, shows that it does again: a full disk may refuse one write and accept another.
final class WriteCondition: Sendable {
    private struct State {
        var error: String?
        var trialBegan: ContinuousClock.Instant?
    }

    /// The time after which a trial that has not ended counts as failed. SQLite's own busy timeout is shorter.
    static let longestTrial = Duration.seconds(3)

    private let state = Locked(State())

    /// The reason why nothing can be written; contains no file name.
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

    /// - Returns: whether the last write failed, so that the trial must write as well.
    func trialBegins(now: ContinuousClock.Instant) -> Bool {
        state.withLock {
            $0.trialBegan = now
            return $0.error != nil
        }
    }

    /// - Parameter hasWritten: a trial that did not write does not clear an earlier failure.
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

    /// Nil if the error does not show that the database cannot be written, such as one caused by the data.
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
