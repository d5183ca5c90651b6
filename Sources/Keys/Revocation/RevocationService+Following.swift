internal import Locking
internal import Logging
internal import Pipeline
internal import Store

/// The part that follows the store, whichever process writes it.
extension RevocationService {
    /// The seconds between two removals of ended revocations.
    private static let tidyingInterval: Int64 = 600
    /// The minimum time between two readings.
    private static let shortestPause = Duration.milliseconds(20)
    /// The maximum number of revocations in one write when the database lacks them.
    private static let storedAtOnce = 1000

    /// Reads what others have written since the last call; at first the whole list. After a failure the whole list is
    /// read again, because it is unknown which changes were missed.
    ///
    /// - Throws: the error if nothing could be read. A failure to store is logged, and a later call tries again.
    package func follow() async throws {
        // A process that was frozen would use its old list until it has read a new one.
        await judgeAge()
        let began = uptime()
        let reading: RevocationReading
        do {
            let position = needsWhole ? nil : state.withLock { $0.position }
            needsWhole = false
            reading = try await changes.read(since: position, now: now())
        } catch {
            needsWhole = true
            await judgeAge()
            throw error
        }
        let revocations = reading.records.compactMap(Revocation.init)
        let list = current
        let new = revocations.filter { !list.includes($0) }
        // Other gateways learn of a reading only when every event loop uses it.
        if !new.isEmpty { await add(new) }
        let wasTooOld = state.withLock { state in
            (state.readAt, state.position) = (max(began, state.readAt), reading.position)
            defer { state.list = state.list.marked(tooOld: false) }
            return state.list.isTooOld
        }
        if wasTooOld { await publish() }
        if !revocations.isEmpty { observer.withLock { $0 }.hasRead() }
        if reading.isWhole, changes.isShared || hasUnstored { await storeMissing(revocations) }
    }

    /// Stores the revocations that are held here and missing in the store. They were made while the store could not be
    /// written, or on a database server that another one has replaced. A failure is logged once for as long as it
    /// lasts.
    private func storeMissing(_ stored: [Revocation]) async {
        let (now, state) = (now(), state.withLock { $0 })
        let missing = state.list.revocations(notIn: RevocationList.empty.adding(stored)).filter { $0.endsAt > now }
        do {
            // The store may have committed all of it, and the disk not have taken it.
            if state.failedCalls > state.storedCalls, missing.isEmpty { try await records.keep([]) }
            for start in stride(from: 0, to: missing.count, by: Self.storedAtOnce) {
                let part = missing[start..<min(start + Self.storedAtOnce, missing.count)]
                try await records.keep(part.map(RevocationRecord.init))
            }
        } catch {
            needsWhole = true
            guard !Task.isCancelled else { return }
            if !cannotStore {
                logger.error(
                    "revocations that the store lacks cannot be stored",
                    metadata: ["revocations": .stringConvertible(missing.count), "error": "\(error)"])
            }
            cannotStore = true
            return
        }
        cannotStore = false
        // The next reading stores the revocations of calls that failed meanwhile.
        self.state.withLock { $0.storedCalls = max($0.storedCalls, state.failedCalls) }
        guard !missing.isEmpty else { return }
        logger.notice(
            "revocations stored that the store lacked", metadata: ["revocations": .stringConvertible(missing.count)])
    }

    /// Marks the list as too old or not. No token is accepted while it is too old.
    private func judgeAge() async {
        let isTooOld = staleness.withLock { $0 }?.makesTooOld(status.age) ?? false
        guard isTooOld != current.isTooOld else { return }
        state.withLock { $0.list = $0.list.marked(tooOld: isTooOld) }
        logger.error(
            isTooOld ? "no token is accepted: revocations cannot be read" : "tokens are accepted by an old list",
            metadata: ["age_seconds": .stringConvertible(status.age)])
        await publish()
    }

    /// Removes ended revocations.
    func removeEnded() async throws {
        state.withLock { $0.list = $0.list.removingEnded(now: now()) }
        try await records.removeEnded(now: now())
    }

    /// Follows the store until cancelled.
    package func run() async {
        for await _ in changes.signals() {
            do {
                try await follow()
                report(nil)
                await tidy()
            } catch {
                guard !Task.isCancelled else { return }
                report("\(error)")
            }
            // Every user of the database can send notifications: all that arrive meanwhile cause a single reading.
            do { try await Task.sleep(for: Self.shortestPause) } catch { return }
        }
    }

    /// Removes ended revocations, from time to time.
    private func tidy() async {
        guard uptime() - tidiedAt >= Self.tidyingInterval else { return }
        tidiedAt = uptime()
        do {
            try await removeEnded()
        } catch {
            guard !Task.isCancelled else { return }
            logger.error("expired revocations are not removed", metadata: ["error": "\(error)"])
        }
    }

    /// Logs a failure once for as long as it lasts.
    private func report(_ failure: String?) {
        defer { lastFailure = failure }
        switch (lastFailure, failure) {
        case (nil, let failure?):
            logger.error("revocations of other processes cannot be read", metadata: ["error": "\(failure)"])
        case (.some, nil): logger.notice("revocations of other processes are read again")
        default: break
        }
    }
}
