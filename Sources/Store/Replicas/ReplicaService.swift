internal import Locking
package import Logging

/// Sends this gateway's heartbeats and tracks the other gateways.
package final class ReplicaService: Sendable {
    private struct State {
        var configuration: String
        /// For how many seconds a gateway serves with a list that it can no longer read.
        var patience: Int64
        var known: [Replica] = []
        /// Whether the last report was stored.
        var isHeard = false
    }

    /// The minimum time between two reports, and between two queries for confirmations.
    private static let (shortestPause, question) = (Duration.milliseconds(250), Duration.milliseconds(25))
    /// The number of heartbeats between two removals of long-gone gateways.
    private static let beatsOfRemoving = 30

    package let id: String
    private let name: String
    private let version: String
    private let records: any ReplicaRecords
    private let list: @Sendable () -> ReplicaReport.ListStanding?
    private let logger: Logger
    private let state: Locked<State>
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - name: the host name of the machine or the container.
    ///   - configuration: the digest of the configuration in use.
    ///   - patience: for how many seconds a gateway serves with a list that it can no longer read.
    ///   - list: how far this gateway has read the list of revocations.
    package init(
        _ records: any ReplicaRecords, id: String, name: String, version: String, configuration: String,
        patience: Int64, logger: Logger, list: @escaping @Sendable () -> ReplicaReport.ListStanding?
    ) {
        self.records = records
        self.id = id
        self.name = name
        self.version = version
        self.list = list
        self.logger = logger
        state = Locked(State(configuration: configuration, patience: max(patience, ReplicaTimes.silence)))
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The gateways known at the last heartbeat.
    package var known: [Replica] { state.withLock { $0.known } }

    /// Takes effect with the next report.
    package func adopt(configuration: String, patience: Int64) {
        state.withLock { ($0.configuration, $0.patience) = (configuration, max(patience, ReplicaTimes.silence)) }
    }

    /// Reports soon that the list has been read, since other gateways may be waiting for that.
    package func listWasRead() { waker.yield() }

    /// Called before the gateway serves, so that the retry windows of a killed gateway are reopened from the first
    /// request on.
    package func begin() async throws {
        try await takeUpLost()
        try await report()
        try await look()
    }

    /// Records that this gateway has shut down cleanly.
    package func end() async throws { try await records.end(id) }

    /// Runs until cancelled.
    package func run() async {
        let ticking = Task { [waker] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(ReplicaTimes.heartbeat)) } catch { return }
                waker.yield()
            }
        }
        // Separate from the heartbeat: reopening many windows may take longer than ``ReplicaTimes/silence``.
        let takingUp = Task { await takeUpAll() }
        defer {
            ticking.cancel()
            takingUp.cancel()
        }
        var looked = ContinuousClock.now
        var beats = 0
        for await _ in wakes {
            let isDue = .now - looked >= .seconds(ReplicaTimes.heartbeat) - Self.shortestPause
            if isDue {
                looked = .now
                beats += 1
            }
            await beat(looks: isDue, removes: isDue && beats % Self.beatsOfRemoving == 0)
            // Wakes that arrive meanwhile are coalesced.
            do { try await Task.sleep(for: Self.shortestPause) } catch { return }
        }
    }

    private func beat(looks: Bool, removes: Bool) async {
        do {
            try await report()
            if looks { try await look() }
            if removes { try await records.removeGone(silence: state.withLock { $0.patience }) }
            note(isHeard: true, error: nil)
        } catch {
            if !Task.isCancelled { note(isHeard: false, error: error) }
        }
    }

    /// Runs until cancelled.
    private func takeUpAll() async {
        var isFailing = false
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: .seconds(ReplicaTimes.heartbeat))
            } catch {
                return
            }
            do {
                try await takeUpLost()
                isFailing = false
            } catch {
                guard !Task.isCancelled else { return }
                if !isFailing {
                    logger.warning("lost gateways cannot be looked for", metadata: ["error": "\(error)"])
                }
                isFailing = true
            }
        }
    }

    private func takeUpLost() async throws {
        for name in try await records.takeUpLost() {
            logger.warning("a gateway is not heard of any more", metadata: ["gateway": "\(name)"])
        }
    }

    private func report() async throws {
        let configuration = state.withLock { $0.configuration }
        try await records.report(
            ReplicaReport(id: id, name: name, version: version, configuration: configuration, list: list()))
    }

    private func look() async throws {
        let known = try await records.all()
        state.withLock { $0.known = known }
    }

    /// Logs a persistent failure once.
    private func note(isHeard: Bool, error: (any Error)?) {
        let wasHeard = state.withLock { state in
            defer { state.isHeard = isHeard }
            return state.isHeard
        }
        guard let error, wasHeard else { return }
        logger.warning("this gateway's heartbeat cannot be stored", metadata: ["error": "\(error)"])
    }

    // MARK: Confirmations

    /// Waits until all gateways apply the revocations made so far.
    ///
    /// - Parameter patience: the longest wait.
    /// - Returns: how many apply them.
    package func confirm(within patience: Duration) async throws -> Confirmations {
        let end = ContinuousClock.now + patience
        let position = try await records.position()
        while true {
            let found = try await records.confirmations(of: position, silence: state.withLock { $0.patience })
            guard !found.isComplete, .now < end else { return found }
            try await Task.sleep(for: Self.question)
        }
    }
}
