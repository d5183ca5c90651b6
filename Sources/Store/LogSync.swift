internal import Dispatch
internal import Glibc
internal import Locking

/// Has the disk take what was committed, off the queue on which writes run: SQLite's own way (`synchronous = FULL`)
/// holds every other write up for as long.
///
/// In WAL mode a commit is what was appended to the log (SQLite, Write-Ahead Logging), so it outlasts a loss of power
/// once the log has reached the disk; what a checkpoint has taken out of the log has reached it before. Those who come
/// while the disk is at work share the next turn.
final class LogSync: Sendable {
    private struct State {
        var waiting: [CheckedContinuation<Void, any Error>] = []
        var isAtWork = false
    }

    private let state = Locked(State())
    private let queue = DispatchQueue(label: "gatehouse.store.sync")
    private let sync: @Sendable () throws -> Void

    /// - Parameter sync: returns when the log has reached the disk. It may take its time.
    init(_ sync: @escaping @Sendable () throws -> Void) {
        self.sync = sync
    }

    /// Returns when everything that was committed before has reached the disk.
    ///
    /// - Throws: what the system says; then nobody knows what has.
    func wait() async throws {
        try await withCheckedThrowingContinuation { continuation in
            let begins = state.withLock { state in
                defer { state.isAtWork = true }
                state.waiting.append(continuation)
                return !state.isAtWork
            }
            if begins { queue.async { self.work() } }
        }
    }

    private func work() {
        while true {
            let turn = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isAtWork = false }
                return state.waiting
            }
            guard !turn.isEmpty else { return }
            let result = Result { try sync() }
            for each in turn { each.resume(with: result) }
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
