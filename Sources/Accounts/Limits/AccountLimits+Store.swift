internal import Locking
internal import Logging
internal import Pipeline
internal import Store

/// How limits outlast the process, and are shared with others.
extension AccountLimits {
    /// How often counts are written.
    private static let interval = Duration.seconds(1)
    /// How many intervals pass between two looks for what has ended.
    private static let roundsOfKeeping = 300
    /// How many counts are written in one step.
    private static let writtenAtOnce = 10_000

    /// Takes over what is stored.
    package func load() async throws {
        let now = now()
        let limit = state.withLock { $0.settings.maximumKeys }
        let counts = try await records.counts(now: now / 1000, limit: limit)
        let failures = try await records.failures(now: now / 1000, limit: limit)
        state.withLock { state in
            for record in failures { _ = state.adopt(record, at: now) }
            for record in counts { state.adopt(record, total: record.count, at: now) }
        }
    }

    /// Writes what was counted, and takes over what others have counted of the same. Counts that cannot be written wait
    /// for the next time. Those of a write whose outcome is not known count twice if it was made: too many calls are
    /// refused rather than too few.
    package func write() async throws {
        var unwritten = state.withLock { $0.takeUnwritten() }[...]
        while !unwritten.isEmpty {
            let written = Array(unwritten.prefix(Self.writtenAtOnce))
            do {
                let totals = try await records.add(written)
                adopt(written, totals: totals)
            } catch {
                let now = now()
                state.withLock { $0.putBack(unwritten, at: now) }
                throw error
            }
            unwritten.removeFirst(written.count)
        }
    }

    /// Removes from the store what has ended, and what is too much.
    func removeEnded() async throws {
        let limit = state.withLock { $0.settings.maximumKeys }
        try await records.removeEnded(now: now() / 1000, limit: limit)
    }

    private func adopt(_ records: [CountRecord], totals: [Int64]) {
        let now = now()
        state.withLock { state in
            for (record, total) in zip(records, totals) { state.adopt(record, total: total, at: now) }
        }
    }

    /// Writes until cancelled, and once more then.
    package func run() async {
        var rounds = 0
        while (try? await Task.sleep(for: Self.interval)) != nil {
            rounds += 1
            await attempt("counts of account calls are not stored") { try await self.write() }
            guard rounds % Self.roundsOfKeeping == 0 else { continue }
            await attempt("expired counts of account calls are not removed") { try await self.removeEnded() }
        }
        await attempt("counts of account calls are not stored") { try await self.write() }
    }

    /// In a task of its own: one that is cancelled could not write.
    private func attempt(
        _ message: Logger.Message, _ step: @escaping @Sendable () async throws -> Void
    ) async {
        do {
            try await Task { try await step() }.value
        } catch {
            logger.error(message, metadata: ["error": "\(error)"])
        }
    }
}
