internal import Locking
internal import Logging
internal import Pipeline
internal import Store

/// How the list follows the store, whoever writes it.
extension RevocationService {
    /// How many seconds pass between two looks for what has ended.
    private static let tidyingInterval: Int64 = 600
    /// How much time passes at least between two readings.
    private static let shortestPause = Duration.milliseconds(20)
    /// How many revocations are stored at once when the database lacks them.
    private static let storedAtOnce = 1000

    /// Takes over what others have written since this was called last; at first all that is kept. After a failure all
    /// is read again: what was missed meanwhile is not known.
    ///
    /// - Throws: why nothing could be read. A failure to store is logged, and a later call tries again.
    package func follow() async throws {
        // A process that was frozen goes by its old list until it has read a new one.
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
        // Other gateways are told of a reading that every event loop goes by.
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

    /// Stores what is held here and the store lacks: it was revoked while the store could not be written, or on a
    /// database server that another one has taken the place of. A failure is logged once for as long as it lasts.
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
        // Of calls that have failed meanwhile, the next reading stores the rest.
        self.state.withLock { $0.storedCalls = max($0.storedCalls, state.failedCalls) }
        guard !missing.isEmpty else { return }
        logger.notice(
            "revocations stored that the store lacked", metadata: ["revocations": .stringConvertible(missing.count)])
    }

    /// Lets no token count while the list is too old.
    private func judgeAge() async {
        let isTooOld = staleness.withLock { $0 }?.makesTooOld(status.age) ?? false
        guard isTooOld != current.isTooOld else { return }
        state.withLock { $0.list = $0.list.marked(tooOld: isTooOld) }
        logger.error(
            isTooOld ? "no token is accepted: revocations cannot be read" : "tokens are accepted by an old list",
            metadata: ["age_seconds": .stringConvertible(status.age)])
        await publish()
    }

    /// Forgets what has ended.
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
            // Everyone who may connect to the database may announce: all that comes meanwhile is one reading.
            do { try await Task.sleep(for: Self.shortestPause) } catch { return }
        }
    }

    /// Forgets what has ended, from time to time.
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
