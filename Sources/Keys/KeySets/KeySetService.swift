internal import Clocks
internal import Encoding
package import HTTPClient
internal import Locking
package import Logging
package import Pipeline

/// One issuer's key set: fetched, kept fresh, and kept for a while when it cannot be fetched (design: key sets).
///
/// Each issuer has its own, so that one issuer's trouble never touches another's.
package actor KeySetService {
    private struct Cached {
        var set: KeySet
        /// Seconds since 1970.
        var fetchedAt: Int64
        /// The same moment in seconds of the monotonic clock.
        var fetchedUptime: Int64
        /// After how many seconds it is fetched again.
        var dueAfter: Int64
        /// For how many seconds it is fresh; after that it is stale, and serves for ``Policy/staleLimit`` more.
        var freshFor: Int64
    }

    /// The state that is read, and given another policy, from anywhere. All else only the service itself writes.
    private struct State {
        var policy: Policy
        var cached: Cached?
        /// Without the times that follow from ``cached``.
        var counted: Status
        /// Ends when the set may be due, or another policy holds.
        var rest: Task<Void, Never>?

        var status: Status {
            var status = counted
            status.freshUntil = cached.map { $0.fetchedAt + $0.dueAfter }
            status.servesUntil = cached.map { $0.fetchedAt + $0.freshFor + policy.staleLimit }
            return status
        }

        /// Seconds until the set is looked at again: often before it is due, because a clock may be set meanwhile.
        /// Once it is due, or without a set, they are those until the next try.
        ///
        /// - Parameter age: the held set's.
        func wait(age: Int64?) -> Int64 {
            guard let cached, let age else { return 5 }
            let left = cached.dueAfter - age
            return left > 0 ? max(1, left * 4 / 5) : min(60, policy.minimumAge)
        }
    }

    /// A document that was fetched before the service serves: it is kept on disk from then on.
    private struct Unwritten {
        var document: [UInt8]
        var fetchedAt: Int64
    }

    package nonisolated let issuer: Issuer
    private let source: KeySetFetch
    private let file: KeySetFile?
    /// The keys of an issuer that keeps them in the settings.
    private let configured: KeySet?
    /// The gateway's own keys, where they are: others keep them fresh.
    private nonisolated let own: (@Sendable () -> KeySet?)?
    private let publish: @Sendable (KeySet?) -> Void
    private let now: @Sendable () -> Int64
    private let uptime: @Sendable () -> Int64
    private let logger: Logger
    private nonisolated let state: Locked<State>
    private var isRunning = false
    private var unwritten: Unwritten?
    /// When a set was last fetched because a token asked for it, while one was held and while there was none: the fetch
    /// of the first set says nothing of unknown keys.
    private var lastLookUp: (withSet: Int64?, withoutSet: Int64?)
    private var flight: Task<Bool, Never>?
    private var warnedOf: [String] = []
    /// Whether the last fetch has failed.
    private var hasFailed = false
    private static let longestError = 200

    private var cached: Cached? { state.withLock { $0.cached } }

    /// The policy in use, readable from anywhere.
    nonisolated var policy: Policy { state.withLock { $0.policy } }

    /// Whether ``run()`` waits until the set may be due.
    nonisolated var isResting: Bool { state.withLock { $0.rest != nil } }

    /// Readable from anywhere, for metrics.
    package nonisolated var currentStatus: Status { state.withLock { $0.status } }

    /// The set to verify with, readable from anywhere. The sets given to `publish` are never newer.
    package nonisolated var currentSet: KeySet? {
        own.map { $0() } ?? configured ?? state.withLock { $0.cached?.set }
    }

    /// - Parameters:
    ///   - file: where the last good set is kept for cold starts.
    ///   - configured: the keys, where they are not fetched: then nothing ever is.
    ///   - own: the same where they are the gateway's own.
    ///   - counted: how often a service before this one, for an issuer of this name, has fetched and failed.
    ///   - publish: gives every event loop the set to verify with; nil when there is none any more.
    ///   - now: seconds since 1970.
    ///   - uptime: seconds of a clock that nobody sets; nil: the system's.
    package init(
        issuer: Issuer, policy: Policy, fetcher: any Fetcher, file: KeySetFile?,
        configured: KeySet? = nil, own: (@Sendable () -> KeySet?)? = nil, counted: Status = Status(), logger: Logger,
        now: @escaping @Sendable () -> Int64, uptime: (@Sendable () -> Int64)? = nil,
        publish: @escaping @Sendable (KeySet?) -> Void
    ) {
        self.issuer = issuer
        self.source = KeySetFetch(issuer: issuer, fetcher: fetcher)
        self.file = file
        self.configured = configured
        self.own = own
        var carried = Status(refreshes: counted.refreshes, failures: counted.failures)
        (carried.error, carried.failingSince) = (counted.error, counted.failingSince)
        self.state = Locked(State(policy: policy, counted: carried))
        self.logger = logger
        self.now = now
        self.uptime = uptime ?? { WallClock.uptime() }
        self.publish = publish
    }

    /// Reads the kept set, then fetches and refreshes until cancelled. Only while it runs, what it fetches is kept on
    /// disk: until then another service may serve the issuer of this name.
    package func run() async {
        if let configured { return warn(of: configured.dropped) }
        guard own == nil else { return }
        isRunning = true
        defer { isRunning = false }
        if let unwritten { write(unwritten) }
        restore()
        while !Task.isCancelled {
            if isRefreshDue() { _ = await refresh() }
            expire()
            let rest = beginRest()
            await withTaskCancellationHandler {
                await rest.value
            } onCancel: {
                rest.cancel()
            }
            endRest()
        }
    }

    private func beginRest() -> Task<Void, Never> {
        let age = cached.map { self.age(of: $0) }
        return state.withLock { state in
            let wait = Duration.seconds(state.wait(age: age))
            // It ends early when it is cancelled.
            let rest = Task { _ = try? await Task.sleep(for: wait) }
            state.rest = rest
            return rest
        }
    }

    private func endRest() { state.withLock { $0.rest = nil } }

    /// Prepares before the first request: reads the kept set, or fetches one, once.
    package func prepare() async {
        guard configured == nil, own == nil else { return }
        restore()
        if cached == nil { _ = await refresh() }
    }

    /// Continues under another policy, which applies to the present set and to a wait of ``run()`` too.
    ///
    /// It holds when this returns, so that of two reloads the later one's does.
    package nonisolated func adopt(_ policy: Policy) {
        state.withLock { state in
            guard policy != state.policy else { return }
            state.policy = policy
            if let cached = state.cached {
                state.cached?.dueAfter = min(cached.dueAfter, policy.maximumAge)
                state.cached?.freshFor = min(cached.freshFor, policy.maximumAge)
            }
            state.rest?.cancel()
        }
    }

    /// Seconds since a set was fetched, by the clock that says more: neither a time of day that was set back nor a
    /// machine that was stopped makes a set younger.
    private func age(of cached: Cached) -> Int64 {
        max(now() - cached.fetchedAt, uptime() - cached.fetchedUptime)
    }

    /// Seconds since the last good fetch, by the same rule; nil before the first one.
    package nonisolated var age: Int64? {
        let status = currentStatus
        guard let fetchedAt = status.fetchedAt, let fetchedUptime = status.fetchedUptime else { return nil }
        return max(now() - fetchedAt, uptime() - fetchedUptime)
    }

    private func isRefreshDue() -> Bool {
        let now = now()
        guard let cached else { return true }
        // A set fetched in the future may be as old as the clock was wrong.
        return cached.fetchedAt > now || age(of: cached) >= cached.dueAfter
    }

    /// Called for a token whose key is not in the set, or that came before there was one.
    ///
    /// All callers share one fetch; there is at most one in ``Policy/unknownKeyInterval`` while a set is held, and
    /// one a second while there is none. A fetch that is under way already may have been answered before the key was
    /// in the set: one that succeeds without the key, and that no look-up with a set has caused, counts as none.
    package func lookUp(_ keyID: String) async -> KeyLookup {
        if let configured { return configured.holds(id: keyID) ? .refreshed : .unchanged }
        if let own { return own().map { $0.holds(id: keyID) ? .refreshed : .unchanged } ?? .unavailable }
        if let flight, await !flight.value { return cached == nil ? .unavailable : .unchanged }
        if cached?.set.holds(id: keyID) == true { return .refreshed }
        if flight == nil {
            let hasSet = cached != nil
            let (last, interval) = hasSet ? (lastLookUp.withSet, policy.unknownKeyInterval) : (lastLookUp.withoutSet, 1)
            // A clock that was set back ends the wait too.
            if let last, (0..<interval).contains(now() - last) { return hasSet ? .unchanged : .unavailable }
            if hasSet { lastLookUp.withSet = now() } else { lastLookUp.withoutSet = now() }
        }
        if await refresh() { return .refreshed }
        return cached == nil ? .unavailable : .unchanged
    }

    /// Fetches once, however many ask.
    private func refresh() async -> Bool {
        if let flight { return await flight.value }
        logger.debug(
            "fetching key set", metadata: ["issuer": "\(issuer.name)", "url": "\(issuer.keySource.place)"])
        let flight = Task {
            // Before anyone who waits goes on, so that whoever finds a flight finds one that is under way.
            defer { self.flight = nil }
            return await fetch()
        }
        self.flight = flight
        return await flight.value
    }

    private func fetch() async -> Bool {
        do throws(KeySetFetch.Failure) {
            let (set, response) = try await source.fetch(timeout: policy.timeout, maximumBytes: policy.maximumBytes)
            accept(set, response)
            return true
        } catch {
            if error.isCancelled {
                logger.debug("fetch of a key set was cancelled", metadata: ["issuer": "\(issuer.name)"])
                return false
            }
            if !error.dropped.isEmpty { warn(of: error.dropped) }
            return fail(error.reason)
        }
    }

    private func accept(_ set: KeySet, _ response: FetchResponse) {
        let age = CacheControl.maximumAge(response.header("cache-control"))
        let (fetchedAt, fetchedUptime) = (now(), uptime())
        let freshFor = state.withLock { state in
            let policy = state.policy
            let freshFor = min(max(age ?? policy.maximumAge, policy.minimumAge), policy.maximumAge)
            state.cached = Cached(
                set: set, fetchedAt: fetchedAt, fetchedUptime: fetchedUptime, dueAfter: freshFor, freshFor: freshFor)
            state.counted.refreshes += 1
            (state.counted.fetchedAt, state.counted.fetchedUptime) = (fetchedAt, fetchedUptime)
            (state.counted.error, state.counted.failingSince) = (nil, nil)
            return freshFor
        }
        warn(of: set.dropped)
        reportRecovery(set)
        publish(set)
        logger.debug(
            "key set fetched",
            metadata: [
                "issuer": "\(issuer.name)", "url": "\(issuer.keySource.place)", "keys": .stringConvertible(set.count),
                "fresh_for_seconds": .stringConvertible(freshFor),
            ])
        let document = Unwritten(document: response.body, fetchedAt: fetchedAt)
        if isRunning { write(document) } else { unwritten = document }
    }

    private func write(_ document: Unwritten) {
        unwritten = nil
        do {
            try file?.write(document.document, fetchedAt: document.fetchedAt)
        } catch {
            logger.warning("key set not stored on disk", metadata: ["issuer": "\(issuer.name)", "error": "\(error)"])
        }
    }

    /// One warning for the whole set, and none again for what the set before it left out as well.
    private func warn(of dropped: [String]) {
        defer { warnedOf = dropped }
        guard !dropped.isEmpty, dropped != warnedOf else { return }
        logger.warning(
            "keys left out of the key set",
            metadata: ["issuer": "\(issuer.name)", "dropped": "\(dropped.joined(separator: "; "))"])
    }

    private func reportRecovery(_ set: KeySet) {
        guard hasFailed else { return }
        hasFailed = false
        logger.notice(
            "key set fetched again", metadata: ["issuer": "\(issuer.name)", "keys": .stringConvertible(set.count)])
    }

    private func fail(_ reason: String) -> Bool {
        hasFailed = true
        let time = now()
        state.withLock { state in
            state.counted.failures += 1
            state.counted.error = String(reason.prefix(Self.longestError))
            state.counted.failingSince = state.counted.failingSince ?? time
        }
        logger.warning(
            "key set not fetched",
            metadata: ["issuer": "\(issuer.name)", "url": "\(issuer.keySource.place)", "reason": "\(reason)"])
        return false
    }

    /// The last good set serves for a bounded time; then verification fails closed.
    private func expire() {
        guard let cached, age(of: cached) > cached.freshFor + policy.staleLimit else { return }
        state.withLock { $0.cached = nil }
        publish(nil)
        logger.error("key set too old to be trusted", metadata: ["issuer": "\(issuer.name)"])
    }

    /// Takes the set that is kept, where there is one and it is not too old.
    package func restore() {
        guard let file, cached == nil else { return }
        do {
            // A time that is not in the past would keep the set from ever being refreshed.
            guard let stored = try file.read(), (0...max(0, now())).contains(stored.fetchedAt) else { return }
            let age = now() - stored.fetchedAt
            guard age <= policy.maximumAge + policy.staleLimit else { return }
            let set = try source.keySet(stored.document)
            guard !set.isEmpty else { return }
            logger.debug(
                "stored key set read",
                metadata: [
                    "issuer": "\(issuer.name)", "keys": .stringConvertible(set.count),
                    "age_seconds": .stringConvertible(age),
                ])
            let fetchedUptime = uptime() - age
            state.withLock { state in
                // Due at once: nobody knows how long its response said that it is fresh.
                state.cached = Cached(
                    set: set, fetchedAt: stored.fetchedAt, fetchedUptime: fetchedUptime, dueAfter: 0,
                    freshFor: state.policy.maximumAge)
                (state.counted.fetchedAt, state.counted.fetchedUptime) = (stored.fetchedAt, fetchedUptime)
            }
            publish(set)
        } catch {
            logger.warning("stored key set not read", metadata: ["issuer": "\(issuer.name)", "error": "\(error)"])
        }
    }
}
