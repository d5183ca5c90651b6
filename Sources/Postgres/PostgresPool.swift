/// A bounded number of connections shared by all callers.
///
/// A statement uses a connection while it runs. If all are in use, callers wait until their deadline; the number of
/// waiting callers is bounded. A connection is closed if its response is overdue or its server accepts no writes. A new
/// one is opened after a pause that grows with each failure and has jitter.
package final class PostgresPool: Sendable {
    private let core: OnLoop<PostgresPoolCore>
    private let timeLimits: PostgresTimeLimits
    package let tally = PostgresTally()

    /// - Parameters:
    ///   - size: the maximum number of connections.
    ///   - mostWaiting: the maximum number of waiting callers.
    ///   - jitter: a factor for pauses, from 0.5 to 1.
    package init(
        _ settings: PostgresSettings, size: Int = 8, mostWaiting: Int = 512,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0.5...1) }
    ) {
        core = OnLoop(PostgresPoolCore(settings, size: size, mostWaiting: mostWaiting, jitter: jitter, tally: tally))
        timeLimits = settings.timeLimits
    }

    deinit { PostgresLoop.shared.execute { [core] in core.value.close() } }

    /// Runs one statement on any connection. Its parameters are `$1`, `$2`, ….
    ///
    /// - Parameter deadline: for the wait and the statement; nil: after the response time limit of the settings.
    package func query(
        _ sql: String, _ values: [PostgresValue] = [], deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> PostgresRows {
        let began = ContinuousClock.now
        do throws(PostgresError) {
            let rows = try await run(sql, values, deadline ?? began + timeLimits.response)
            tally.add(.now - began, nil)
            return rows
        } catch {
            tally.add(.now - began, error)
            throw error
        }
    }

    private func run(
        _ sql: String, _ values: [PostgresValue], _ deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> PostgresRows {
        try await PostgresWait.run { [core] wait in
            core.value.lend(until: deadline, to: wait) { handle in
                handle.query(sql, values, deadline: deadline) { outcome in
                    core.value.takeBack(handle, after: outcome)
                    wait.end(outcome)
                }
            }
        } cancelled: { [core] in
            core.value.forgetCancelled()
        }
    }

    /// Lends a connection to `body`, for example for a transaction of several statements. `body` must not keep it. A
    /// connection returned within a transaction, or with a statement in progress, is closed.
    ///
    /// - Parameter deadline: for the wait alone; nil: after the response time limit of the settings.
    package func withConnection<Value>(
        deadline: ContinuousClock.Instant? = nil, _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let deadline = deadline ?? .now + timeLimits.response
        let timeLimits = timeLimits
        let handle = try await PostgresWait<OnLoop<PostgresHandle>>.run { [core] wait in
            core.value.lend(until: deadline, to: wait) { handle in
                if !wait.end(.success(OnLoop(handle))) { core.value.takeBack(handle) }
            }
        } cancelled: { [core] in
            core.value.forgetCancelled()
        }
        defer { PostgresLoop.shared.execute { [core] in core.value.takeBack(handle.value) } }
        return try await body(PostgresConnection(lent: handle, timeLimits))
    }

    /// Closes all connections. Statements in progress and later ones fail.
    package func close() async throws(PostgresError) {
        try await PostgresWait<Void>.run { [core] wait in
            core.value.close()
            wait.end(.success(()))
        }
    }

    /// The current state of the pool.
    package func state() async throws(PostgresError) -> PostgresPoolState {
        try await PostgresWait.run { [core] wait in wait.end(.success(core.value.state)) }
    }
}

/// A snapshot of a pool.
package struct PostgresPoolState: Sendable, Equatable {
    /// Open connections, and how many of them are idle.
    package var open = 0
    package var idle = 0
    package var connecting = 0
    package var waiting = 0
    /// Connections opened, and failed attempts, since the pool was created.
    package var made = 0
    package var failed = 0
    /// The error of the last connection attempt; nil if it succeeded.
    package var lastError: PostgresError?
}
