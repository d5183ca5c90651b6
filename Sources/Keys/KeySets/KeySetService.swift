internal import Clocks
internal import Encoding
package import HTTPClient
internal import Locking
package import Logging
package import Pipeline

/// One issuer's key set: fetched, refreshed, and used for a limited time if it cannot be fetched (design: key sets).
///
/// Each issuer has its own service, so that one issuer's problems never affect another's.
package actor KeySetService {
    private struct Cached {
        var set: KeySet
        /// Seconds since 1970.
        var fetchedAt: Int64
        /// The same time in seconds of the monotonic clock.
        var fetchedUptime: Int64
        /// The seconds until it is fetched again.
        var dueAfter: Int64
        /// The seconds for which it is fresh; after that it is stale, and is used for ``Policy/staleLimit`` longer.
        var freshFor: Int64
    }

    /// The state that any thread may read, and whose policy any thread may replace. Only the service itself writes the
    /// rest.
    private struct State {
        var policy: Policy
        var cached: Cached?
        /// The status without the times that derive from ``cached``.
        var counted: Status
        /// The current wait, which ends when the set may be due or the policy changes.
        var rest: Task<Void, Never>?

        var status: Status {
            var status = counted
            status.freshUntil = cached.map { $0.fetchedAt + $0.dueAfter }
            status.servesUntil = cached.map { $0.fetchedAt + $0.freshFor + policy.staleLimit }
            return status
        }

        /// The seconds until the next check of the set. There are several checks before it is due, because a clock may
        /// be set meanwhile. If the set is due or missing, these are the seconds until the next attempt.
        ///
        /// - Parameter age: the age of the cached set, in seconds; nil without one.
        func wait(age: Int64?) -> Int64 {
            guard let cached, let age else { return 5 }
            let left = cached.dueAfter - age
            return left > 0 ? max(1, left * 4 / 5) : min(60, policy.minimumAge)
        }
    }

    /// A document that was fetched before ``run()``, which then writes it to disk.
    private struct Unwritten {
        var document: [UInt8]
        var fetchedAt: Int64
    }

    package nonisolated let issuer: Issuer
    private let source: KeySetFetch
    private let file: KeySetFile?
    /// The keys of an issuer whose keys are in the settings.
    private let configured: KeySet?
    /// Returns the gateway's own keys, for an issuer that uses them; other code refreshes these.
    private nonisolated let own: (@Sendable () -> KeySet?)?
    private let publish: @Sendable (KeySet?) -> Void
    private let now: @Sendable () -> Int64
    private let uptime: @Sendable () -> Int64
    private let logger: Logger
    private nonisolated let state: Locked<State>
    private var isRunning = false
    private var unwritten: Unwritten?
    /// The times of the last fetches for an unknown key, one with a cached set and one without: the fetch of the first
    /// set says nothing about unknown keys.
    private var lastLookUp: (withSet: Int64?, withoutSet: Int64?)
    private var flight: Task<Bool, Never>?
    private var warnedOf: [String] = []
    /// Whether the last fetch failed.
    private var hasFailed = false
    private static let longestError = 200

    private var cached: Cached? { state.withLock { $0.cached } }

    /// The policy in use, readable from anywhere.
    nonisolated var policy: Policy { state.withLock { $0.policy } }

    /// Whether ``run()`` is waiting until the set may be due.
    nonisolated var isResting: Bool { state.withLock { $0.rest != nil } }

    /// Readable from anywhere, for metrics.
    package nonisolated var currentStatus: Status { state.withLock { $0.status } }

    /// The set to verify with, readable from anywhere. The sets passed to `publish` are never newer.
    package nonisolated var currentSet: KeySet? {
        own.map { $0() } ?? configured ?? state.withLock { $0.cached?.set }
    }

    /// - Parameters:
    ///   - file: the storage of the last good set for cold starts.
    ///   - configured: the keys, if they are in the settings; nothing is then fetched.
    ///   - own: returns the gateway's own keys, if the issuer uses them; nothing is then fetched.
    ///   - counted: the counts of the previous service for an issuer with this name.
    ///   - publish: passes the set to verify with to every event loop; nil when there no longer is one.
    ///   - now: seconds since 1970.
    ///   - uptime: seconds of a monotonic clock; nil for the system's.
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

    /// Reads the stored set, then fetches and refreshes until cancelled. Fetched sets are written to disk only while it
    /// runs: before that, another service may serve the issuer with this name.
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

    /// Prepares for the first request: reads the stored set or, failing that, fetches one, once.
    package func prepare() async {
        guard configured == nil, own == nil else { return }
        restore()
        if cached == nil { _ = await refresh() }
    }

    /// Replaces the policy, also for the current set and for a wait of ``run()``.
    ///
    /// The policy applies when this returns, so that of two reloads the later one wins.
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

    /// The seconds since a set was fetched, by the clock that shows more. Neither setting back the time of day nor
    /// suspending the machine makes a set younger.
    private func age(of cached: Cached) -> Int64 {
        max(now() - cached.fetchedAt, uptime() - cached.fetchedUptime)
    }

    /// The seconds since the last successful fetch, by the same rule; nil before the first one.
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

    /// Looks up a key for a token whose key is not in the set, or that came before there was one.
    ///
    /// All callers share one fetch. There is at most one in ``Policy/unknownKeyInterval`` while there is a set, and one
    /// a second while there is none. A fetch that is already in progress may have been answered before the key was in
    /// the set. If it succeeds without the key, and no look-up with a set started it, it does not count.
    package func lookUp(_ keyID: String) async -> KeyLookup {
        if let configured { return configured.holds(id: keyID) ? .refreshed : .unchanged }
        if let own { return own().map { $0.holds(id: keyID) ? .refreshed : .unchanged } ?? .unavailable }
        if let flight, await !flight.value { return cached == nil ? .unavailable : .unchanged }
        if cached?.set.holds(id: keyID) == true { return .refreshed }
        if flight == nil {
            let hasSet = cached != nil
            let (last, interval) = hasSet ? (lastLookUp.withSet, policy.unknownKeyInterval) : (lastLookUp.withoutSet, 1)
            // A clock that was set back also ends the wait.
            if let last, (0..<interval).contains(now() - last) { return hasSet ? .unchanged : .unavailable }
            if hasSet { lastLookUp.withSet = now() } else { lastLookUp.withoutSet = now() }
        }
        if await refresh() { return .refreshed }
        return cached == nil ? .unavailable : .unchanged
    }

    /// Fetches once for all concurrent callers.
    private func refresh() async -> Bool {
        if let flight { return await flight.value }
        logger.debug(
            "fetching key set", metadata: ["issuer": "\(issuer.name)", "url": "\(issuer.keySource.place)"])
        let flight = Task {
            // Cleared before any waiting caller continues, so that a flight that is found is always in progress.
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

    /// Logs one warning for the whole set, and none if the set before it had the same omissions.
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

    /// The last good set is used for a limited time; then verification fails closed.
    private func expire() {
        guard let cached, age(of: cached) > cached.freshFor + policy.staleLimit else { return }
        state.withLock { $0.cached = nil }
        publish(nil)
        logger.error("key set too old to be trusted", metadata: ["issuer": "\(issuer.name)"])
    }

    /// Uses the stored set, if there is one and it is not too old.
    package func restore() {
        guard let file, cached == nil else { return }
        do {
            // A time in the future would keep the set from ever being refreshed.
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
                // Due at once: the lifetime that its response stated is unknown.
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
