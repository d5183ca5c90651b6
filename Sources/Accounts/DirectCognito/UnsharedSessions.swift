internal import Encoding
internal import Locking

/// Sessions of translated sign-ins that the database could not store. They are shared again soon: another gateway may
/// get a sign-out for one at any time.
///
/// One session is tried at a time, after a pause that doubles with each failure. After a success the others follow at
/// once.
final class UnsharedSessions: Sendable {
    typealias Share = @Sendable (_ session: [UInt8], _ digest: String) async throws -> Void

    private struct State {
        var waiting: [ExactText: [UInt8]] = [:]
        var share: Share?
        var isAtWork = false
    }

    private static let (firstPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))

    private let state = Locked(State())
    private let capacity: Int
    private let pause: @Sendable (Duration) async -> Void

    init(capacity: Int, pause: @escaping @Sendable (Duration) async -> Void) {
        self.capacity = capacity
        self.pause = pause
    }

    /// Adds a session whose sharing has just failed.
    ///
    /// - Parameter share: shares one session; used for this one and all that wait.
    /// - Returns: false if too many wait.
    func add(_ session: [UInt8], by digest: String, share: @escaping Share) -> Bool {
        let (isTaken, begins) = state.withLock { state in
            let digest = ExactText(digest)
            guard state.waiting.count < capacity || state.waiting[digest] != nil else { return (false, false) }
            state.waiting[digest] = session
            // The latest closure has the newest sealing keys.
            state.share = share
            defer { state.isAtWork = true }
            return (true, !state.isAtWork)
        }
        if begins { Task { await work() } }
        return isTaken
    }

    private func work() async {
        var failures = 1
        while true {
            if failures > 0 { await pause(min(Self.longestPause, Self.firstPause * (1 << min(failures - 1, 6)))) }
            guard let (digest, session, share) = next() else { return }
            do {
                try await share(session, digest.text)
                remove(digest)
                failures = 0
            } catch {
                failures += 1
            }
        }
    }

    /// Returns a random session, so that one that the database never accepts does not block the others.
    private func next() -> (digest: ExactText, session: [UInt8], share: Share)? {
        state.withLock { state in
            guard let share = state.share, let (digest, session) = state.waiting.randomElement() else {
                state = State()
                return nil
            }
            return (digest, session, share)
        }
    }

    private func remove(_ digest: ExactText) { state.withLock { $0.waiting[digest] = nil } }
}
