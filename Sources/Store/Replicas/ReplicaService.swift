internal import Locking
package import Logging

/// Tells the other gateways that this one is alive, and knows of them.
package final class ReplicaService: Sendable {
    private struct State {
        var configuration: String
        /// For how many seconds a gateway serves by a list that it cannot read any more.
        var patience: Int64
        var known: [Replica] = []
        /// Whether the last report was stored.
        var isHeard = false
    }

    /// The least time between two reports, and between two questions for confirmations.
    private static let (shortestPause, question) = (Duration.milliseconds(250), Duration.milliseconds(25))
    /// How many heartbeats pass between two looks for those of long ago.
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
    ///   - name: the machine's or the container's.
    ///   - configuration: the digest of the one in use.
    ///   - patience: for how many seconds a gateway serves by a list that it cannot read any more.
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

    /// Those that were known at the last heartbeat.
    package var known: [Replica] { state.withLock { $0.known } }

    /// From the next report on.
    package func adopt(configuration: String, patience: Int64) {
        state.withLock { ($0.configuration, $0.patience) = (configuration, max(patience, ReplicaTimes.silence)) }
    }

    /// The list has been read: the others may be waiting for that.
    package func listWasRead() { waker.yield() }

    /// Before the gateway serves: windows that a killed one has left open are open once more from the first request on.
    package func begin() async throws {
        try await takeUpLost()
        try await report()
        try await look()
    }

    /// The gateway has served all whom it could.
    package func end() async throws { try await records.end(id) }

    /// Until cancelled.
    package func run() async {
        let ticking = Task { [waker] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: .seconds(ReplicaTimes.heartbeat)) } catch { return }
                waker.yield()
            }
        }
        // Beside the heartbeat: where many windows are to be opened, that takes longer than a gateway may be silent.
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
            // More that come meanwhile are one.
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

    /// Until cancelled.
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

    /// Logs a failure once for as long as it lasts.
    private func note(isHeard: Bool, error: (any Error)?) {
        let wasHeard = state.withLock { state in
            defer { state.isHeard = isHeard }
            return state.isHeard
        }
        guard let error, wasHeard else { return }
        logger.warning("this gateway's heartbeat cannot be stored", metadata: ["error": "\(error)"])
    }

    // MARK: Confirmations

    /// Waits until all gateways go by what has been revoked until now.
    ///
    /// - Parameter patience: the longest wait.
    /// - Returns: how many do.
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
