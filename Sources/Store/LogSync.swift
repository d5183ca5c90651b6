internal import Dispatch
internal import Glibc
internal import Locking

/// Has the disk take what was committed, off the queue on which writes run: SQLite's own way (`synchronous = FULL`)
/// holds every other write up for as long.
///
/// In WAL mode a commit is what was appended to the log (SQLite, Write-Ahead Logging), so it outlasts a loss of power
/// once the log has reached the disk; what a checkpoint has taken out of the log has reached it before. Those who come
/// while the disk is at work share the next turn. A disk that does not respond holds nobody for longer than a limit.
final class LogSync: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private enum Entry {
        case begins, waits, refused
    }

    /// A waiter is taken out of it once, by whoever resumes it.
    private struct State {
        let longestResponse: Duration
        var waiting: [Waiter] = []
        /// Those for whom the disk is at work.
        var turn: [Waiter] = []
        /// When the disk was asked or has responded last; nil while it has nothing to do.
        var progress: ContinuousClock.Instant?
        var isWatched = false
        /// How many turns have failed.
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

        /// - Returns: after which time to look; nil if somebody does already.
        mutating func beginWatch() -> Duration? {
            defer { isWatched = true }
            return isWatched ? nil : longestResponse
        }

        /// - Returns: all who wait, if the disk has not responded for too long; and after which time to look again, if
        ///   it may come to that.
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
    /// Apart from the queue that the disk may hold.
    private let watch = DispatchQueue(label: "gatehouse.store.sync.watch")
    private let sync: @Sendable () throws -> Void

    /// - Parameters:
    ///   - longestResponse: after how long a disk that has not responded is taken for one that does not.
    ///   - sync: returns when the log has reached the disk. It may take its time.
    init(longestResponse: Duration, _ sync: @escaping @Sendable () throws -> Void) {
        state = Locked(State(longestResponse: longestResponse))
        self.sync = sync
    }

    /// Returns when everything that was committed before has reached the disk.
    ///
    /// - Throws: the system's error, or ``StoreError/noResponse``; then nobody knows how much of it has.
    func wait() async throws {
        try await withCheckedThrowingContinuation { continuation in
            switch state.withLock({ $0.enter(continuation, at: .now) }) {
            case .begins: queue.async { self.work() }
            case .waits: break
            case .refused: continuation.resume(throwing: StoreError.noResponse)
            }
        }
    }

    /// How often the disk has not taken the log. The system says so once to each open file, and then takes what is lost
    /// for written (fsync(2)): the log from before is not to be relied on.
    var failures: Int { state.withLock { $0.failures } }

    /// Notes that somebody else was told of a failure.
    func noteFailure() { state.withLock { $0.failures += 1 } }

    private func work() {
        while state.withLock({ $0.beginTurn(at: .now) }) {
            if let time = state.withLock({ $0.beginWatch() }) { look(after: time) }
            let result = Result { try sync() }
            if case .failure = result { noteFailure() }
            for each in state.withLock({ $0.endTurn(at: .now) }) { each.resume(with: result) }
        }
    }

    /// One timer in the time of the longest response serves all turns in it.
    private func look(after time: Duration) {
        let seconds: Double = time / .seconds(1)
        watch.asyncAfter(deadline: .now() + seconds) {
            let (late, next) = self.state.withLock { $0.look(at: .now) }
            for each in late { each.resume(throwing: StoreError.noResponse) }
            if let next { self.look(after: next) }
        }
    }

    /// Has a file reach the disk. SQLite locks the database and its index, not its log: to open and close that one here
    /// takes no lock away.
    static func sync(fileAt path: String) throws {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(path, errno) }
        defer { close(descriptor) }
        while fdatasync(descriptor) != 0 {
            guard errno == EINTR else { throw SystemError(path, errno) }
        }
    }

    /// A file that could not be written to the disk.
    struct SystemError: Error, CustomStringConvertible {
        let description: String

        init(_ path: String, _ code: CInt) {
            description = "\(path): can't be written to the disk: error \(code)"
        }
    }
}
