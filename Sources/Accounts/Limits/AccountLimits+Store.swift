internal import Locking
internal import Logging
internal import Pipeline
internal import Store

/// The storage of limits, which lets them outlast the process and shares them with other gateways.
extension AccountLimits {
    /// The interval at which counts are written.
    private static let interval = Duration.seconds(1)
    /// The number of intervals between two removals of expired records.
    private static let roundsOfKeeping = 300
    /// The maximum number of counts in one write.
    private static let writtenAtOnce = 10_000

    /// Loads the stored counts and failures.
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

    /// Writes the new counts, and takes over those of other gateways under the same keys. Counts that cannot be written
    /// wait for the next time. If the outcome of a write is unknown and it did succeed, its counts count twice: too
    /// many calls are refused rather than too few.
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

    /// Removes expired and excess records from the store.
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

    /// Writes until cancelled, and then once more.
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

    /// Runs a step in a separate task: a cancelled one could not write.
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
