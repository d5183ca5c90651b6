/// The pool's state, on the loop's thread.
final class PostgresPoolCore {
    private struct Waiter {
        let id: UInt64
        let timer: PostgresTimers.ID
        let isOver: () -> Bool
        let fail: (PostgresError) -> Void
        let use: (PostgresHandle) -> Void
    }

    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(2)

    private let settings: PostgresSettings
    private let size: Int
    private let mostWaiting: Int
    private let jitter: @Sendable () -> Double
    private let tally: PostgresTally
    private let loop = PostgresLoop.shared
    /// All open connections.
    private var handles: [ObjectIdentifier: PostgresHandle] = [:] { didSet { tally.use(state) } }
    /// The idle connections; the most recently used one is reused first.
    private var idle: [PostgresHandle] = [] { didSet { tally.use(state) } }
    private var waiters: [Waiter] = [] { didSet { tally.use(state) } }
    private var lastWaiter: UInt64 = 0
    private var pause: PostgresTimers.ID?
    /// The number of consecutive failures to connect.
    private var failuresInRow = 0
    /// Whether the server has not responded since it was last found unreachable. Callers then wait only briefly: a
    /// client's request takes several statements, and each would wait for its own deadline.
    private var isAway = false
    private var counts = PostgresPoolState() { didSet { tally.use(state) } }
    private var isClosed = false

    init(
        _ settings: PostgresSettings, size: Int, mostWaiting: Int, jitter: @escaping @Sendable () -> Double,
        tally: PostgresTally
    ) {
        self.settings = settings
        self.tally = tally
        self.size = max(1, size)
        self.mostWaiting = max(1, mostWaiting)
        self.jitter = jitter
    }

    var state: PostgresPoolState {
        var state = counts
        (state.open, state.idle, state.waiting) = (handles.count, idle.count, waiters.count)
        return state
    }

    // MARK: Callers

    /// Calls `use` with a connection, now or when one becomes free, unless the wait ends first.
    func lend<Value>(
        until deadline: ContinuousClock.Instant, to wait: PostgresWait<Value>,
        _ use: @escaping (PostgresHandle) -> Void
    ) {
        guard !isClosed else { return _ = wait.end(.failure(.closed)) }
        if waiters.isEmpty, let handle = takeIdle() { return use(handle) }
        guard waiters.count < mostWaiting else {
            let message = "\(mostWaiting) callers wait for a connection to PostgreSQL already"
            return _ = wait.end(.failure(PostgresError(.tooManyWaiting, message)))
        }
        let deadline = isAway ? min(deadline, .now + settings.timeLimits.whileAway) : deadline
        lastWaiter += 1
        let id = lastWaiter
        waiters.append(
            Waiter(
                id: id, timer: loop.schedule(at: deadline) { [weak self] in self?.expire(id) },
                isOver: { wait.isOver }, fail: { wait.end(.failure($0)) }, use: use))
        connect()
    }

    /// Returns a connection to the pool, for the next caller.
    func takeBack(_ handle: PostgresHandle, after outcome: PostgresHandle.Outcome? = nil) {
        if case .failure(let error) = outcome {
            let isGone = error.kind == .connection || error.kind == .deadline
            // The server has become a standby, hangs, or is gone. The idle connections are affected too.
            if isGone || error.condition == .readOnly { for other in idle { drop(other) } }
            if isGone { isAway = true }
        } else if outcome != nil {
            isAway = false
        }
        guard handles[ObjectIdentifier(handle)] != nil else { return connect() }
        guard !isClosed, handle.isIdle else {
            drop(handle)
            return connect()
        }
        guard let waiter = nextWaiter() else { return idle.append(handle) }
        waiter.use(handle)
    }

    /// Removes callers whose tasks were cancelled, so that others may wait.
    func forgetCancelled() {
        for waiter in waiters where waiter.isOver() { loop.cancel(waiter.timer) }
        waiters.removeAll { $0.isOver() }
    }

    func close() {
        isClosed = true
        if let pause { loop.cancel(pause) }
        failWaiters(.closed)
        for handle in Array(handles.values) { drop(handle) }
    }

    private func takeIdle() -> PostgresHandle? {
        while let handle = idle.popLast() {
            if handle.isIdle { return handle }
            drop(handle)
        }
        return nil
    }

    private func nextWaiter() -> Waiter? {
        while !waiters.isEmpty {
            let waiter = waiters.removeFirst()
            loop.cancel(waiter.timer)
            if !waiter.isOver() { return waiter }
        }
        return nil
    }

    private func expire(_ id: UInt64) {
        guard let place = waiters.firstIndex(where: { $0.id == id }) else { return }
        waiters.remove(at: place).fail(counts.lastError ?? .deadline)
    }

    private func failWaiters(_ error: PostgresError) {
        let all = waiters
        waiters = []
        for waiter in all {
            loop.cancel(waiter.timer)
            waiter.fail(error)
        }
    }

    private func drop(_ handle: PostgresHandle) {
        handles[ObjectIdentifier(handle)] = nil
        idle.removeAll { $0 === handle }
        handle.close()
    }

    // MARK: Connections

    /// Opens a connection for each waiting caller, up to `size`. After a failure only one attempt runs at a time.
    private func connect() {
        guard !isClosed, pause == nil else { return }
        let room = failuresInRow > 0 ? 1 - counts.connecting : size - handles.count - counts.connecting
        let wanted = min(room, waiters.count - counts.connecting, size - handles.count - counts.connecting)
        guard wanted > 0 else { return }
        let (settings, core) = (settings, OnLoop(self))
        for _ in 0..<wanted {
            counts.connecting += 1
            Task {
                let deadline = ContinuousClock.now + settings.timeLimits.response
                let outcome: Result<OnLoop<PostgresHandle>, PostgresError>
                do throws(PostgresError) {
                    outcome = .success(try await PostgresConnector(settings).open(until: deadline))
                } catch {
                    outcome = .failure(error)
                }
                PostgresLoop.shared.execute { [outcome] in core.value.connected(outcome) }
            }
        }
    }

    private func connected(_ outcome: Result<OnLoop<PostgresHandle>, PostgresError>) {
        counts.connecting -= 1
        switch outcome {
        case .success(let lent):
            let handle = lent.value
            guard !isClosed else { return handle.close() }
            (failuresInRow, isAway, counts.lastError) = (0, false, nil)
            counts.made += 1
            handles[ObjectIdentifier(handle)] = handle
            handle.ended = { [weak self, weak handle] _ in
                guard let self, let handle else { return }
                self.drop(handle)
                self.connect()
            }
            takeBack(handle)
            connect()
        case .failure(let error):
            failuresInRow += 1
            if handles.isEmpty { isAway = true }
            counts.failed += 1
            counts.lastError = error
            // Retrying cannot resolve these errors.
            if error.kind == .refused || error.kind == .libraryMissing { failWaiters(error) }
            waitBeforeNext()
        }
    }

    private func waitBeforeNext() {
        guard !isClosed, pause == nil else { return }
        let longest = min(Self.longestPause, Self.firstPause * (1 << min(failuresInRow - 1, 10)))
        pause = loop.schedule(at: .now + longest * jitter()) { [weak self] in
            self?.pause = nil
            self?.connect()
        }
    }
}
