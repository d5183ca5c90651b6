internal import Locking
internal import Postgres

/// Whether PostgreSQL accepts writes, according to the last ones.
///
/// A statement that fails because of the server shows at once that it does not. Only a trial shows that it does again.
final class PostgresCondition: Sendable {
    private let state = Locked<String?>(nil)

    /// The reason why nothing can be written; contains no host and no value.
    var error: String? { state.withLock { $0 } }

    func statementFailed(_ error: PostgresError) {
        guard let words = Self.words(error) else { return }
        state.withLock { $0 = words }
    }

    func trialSucceeded() { state.withLock { $0 = nil } }

    /// The trial's own data cannot be at fault, so every error counts.
    func trialFailed(_ error: any Error) {
        let known = error as? PostgresError
        if known?.kind == .cancelled { return }
        let words = known.map { Self.words($0) ?? Self.slow($0) } ?? nil
        state.withLock { $0 = words ?? Self.withState("a trial write fails", known) }
    }

    /// Nil if the error is due to the data written, or to concurrent writes of the same data.
    private static func words(_ error: PostgresError) -> String? {
        switch error.kind {
        case .connection where error.condition == .readOnly: return readOnly(error)
        case .connection: return withState("PostgreSQL cannot be reached", error)
        case .tls: return "the certificate of PostgreSQL cannot be verified"
        case .refused: return withState("PostgreSQL refuses the role or the database", error)
        case .libraryMissing: return "libpq cannot be loaded"
        case .deadline: return "PostgreSQL did not respond in time"
        case .tooManyWaiting: return "too many calls wait for PostgreSQL"
        case .statement: break
        case .cancelled, .tooLarge, .unusable, .type: return nil
        }
        switch error.condition {
        case .readOnly: return readOnly(error)
        case .unavailable where error.sqlState == "53100": return withState("PostgreSQL's disk is full", error)
        case .unavailable: return withState("PostgreSQL cannot work now", error)
        case .missingRight: return withState("the role lacks a right", error)
        // Class XX: an internal error of the server, such as damaged files.
        case .other where error.sqlState?.hasPrefix("XX") == true:
            return withState("PostgreSQL reports an internal error", error)
        case .conflict, .timeLimit, .uniqueViolation, .other, nil: return nil
        }
    }

    private static func readOnly(_ error: PostgresError) -> String {
        withState("PostgreSQL takes no writes: it is a standby or read only", error)
    }

    /// A time limit counts for a trial, since nobody else writes its row.
    private static func slow(_ error: PostgresError) -> String? {
        error.condition == .timeLimit ? withState("PostgreSQL did not respond in time", error) : nil
    }

    private static func withState(_ words: String, _ error: PostgresError?) -> String {
        error?.sqlState.map { "\(words) (SQLSTATE \($0))" } ?? words
    }
}
