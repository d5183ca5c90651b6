internal import Dispatch
internal import Glibc
internal import Locking

/// Syncs committed writes to the disk, off the queue on which writes run. SQLite's own sync (`synchronous = FULL`)
/// blocks all other writes meanwhile.
///
/// In WAL mode a commit consists of the frames appended to the log (SQLite, Write-Ahead Logging), so it survives a
/// power loss once the log has been synced. Frames that a checkpoint has removed from the log were synced before.
/// Callers that arrive during a sync share the next one. A disk that does not respond blocks no caller beyond a time
/// limit.
final class LogSync: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private enum Entry {
        case begins, waits, refused
    }

    /// Each waiter is removed once, by the code that resumes it.
    private struct State {
        let longestResponse: Duration
        var waiting: [Waiter] = []
        /// The waiters of the sync in progress.
        var turn: [Waiter] = []
        /// When the sync started, or the last one completed; nil while idle.
        var progress: ContinuousClock.Instant?
        var isWatched = false
        /// The number of failed syncs.
        var failures = 0

        mutating func enter(_ waiter: Waiter, at now: ContinuousClock.Instant) -> Entry {
            guard let last = progress else {
                (waiting, progress) = ([waiter], now)
                return .begins
            }
            guard now - last < longestResponse else { return .refused }
            waiting.append(waiter)
            return .waits
        }

        /// - Returns: false if nobody waits.
        mutating func beginTurn(at now: ContinuousClock.Instant) -> Bool {
            (turn, waiting) = (waiting, [])
            progress = turn.isEmpty ? nil : now
            return !turn.isEmpty
        }

        mutating func endTurn(at now: ContinuousClock.Instant) -> [Waiter] {
            defer { (turn, progress) = ([], now) }
            return turn
        }

        /// - Returns: the delay until the check; nil if one is already scheduled.
        mutating func beginWatch() -> Duration? {
            defer { isWatched = true }
            return isWatched ? nil : longestResponse
        }

        /// - Returns: all waiters, if the disk has not responded within the limit; and the delay until the next check,
        ///   if one is needed.
        mutating func look(at now: ContinuousClock.Instant) -> (late: [Waiter], next: Duration?) {
            if let progress, now - progress < longestResponse {
                return ([], longestResponse - (now - progress))
            }
            defer { (turn, waiting, isWatched) = ([], [], false) }
            return (turn + waiting, nil)
        }
    }

    private let state: Locked<State>
    private let queue = DispatchQueue(label: "gatehouse.store.sync")
    /// Separate from the queue that the disk may block.
    private let watch = DispatchQueue(label: "gatehouse.store.sync.watch")
    private let sync: @Sendable () throws -> Void

    /// - Parameters:
    ///   - longestResponse: the time after which a disk is considered unresponsive.
    ///   - sync: returns when the log has been synced. It may block.
    init(longestResponse: Duration, _ sync: @escaping @Sendable () throws -> Void) {
        state = Locked(State(longestResponse: longestResponse))
        self.sync = sync
    }

    /// Returns when everything committed before the call has been synced.
    ///
    /// - Throws: the system's error, or ``StoreError/noResponse``. In either case it is unknown how much has been
    ///   synced.
    func wait() async throws {
        try await withCheckedThrowingContinuation { continuation in
            switch state.withLock({ $0.enter(continuation, at: .now) }) {
            case .begins: queue.async { self.work() }
            case .waits: break
            case .refused: continuation.resume(throwing: StoreError.noResponse)
            }
        }
    }

    /// The number of failed syncs. The system reports a failure once for each open file and then treats the lost pages
    /// as written (fsync(2)): the log up to that point is unreliable.
    var failures: Int { state.withLock { $0.failures } }

    /// Records a failure that was reported elsewhere.
    func noteFailure() { state.withLock { $0.failures += 1 } }

    private func work() {
        while state.withLock({ $0.beginTurn(at: .now) }) {
            if let time = state.withLock({ $0.beginWatch() }) { look(after: time) }
            let result = Result { try sync() }
            if case .failure = result { noteFailure() }
            for each in state.withLock({ $0.endTurn(at: .now) }) { each.resume(with: result) }
        }
    }

    /// One timer, set to the longest response time, covers all syncs within it.
    private func look(after time: Duration) {
        let seconds: Double = time / .seconds(1)
        watch.asyncAfter(deadline: .now() + seconds) {
            let (late, next) = self.state.withLock { $0.look(at: .now) }
            for each in late { each.resume(throwing: StoreError.noResponse) }
            if let next { self.look(after: next) }
        }
    }

    /// Syncs a file. SQLite locks the database and its index, not its log: opening and closing the log here releases no
    /// lock.
    static func sync(fileAt path: String) throws {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(path, errno) }
        defer { close(descriptor) }
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw SystemError(path, errno) }
        }
    }

    /// A file that could not be synced.
    struct SystemError: Error, CustomStringConvertible {
        let description: String

        init(_ path: String, _ code: CInt) {
            description = "\(path): can't be written to the disk: error \(code)"
        }
    }
}
