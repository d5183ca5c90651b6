/// A bounded number of connections that all callers share.
///
/// A statement has its connection for as long as it takes. Where all are in use, callers wait, a bounded number of them
/// and until their deadline. A connection whose response is late, or whose server takes no writes, is closed; a new one
/// is made after a pause that grows with each failure and is different at each gateway.
package final class PostgresPool: Sendable {
    private let core: OnLoop<PostgresPoolCore>
    private let timeLimits: PostgresTimeLimits
    package let tally = PostgresTally()

    /// - Parameters:
    ///   - size: the most connections.
    ///   - mostWaiting: the most callers that wait for one.
    ///   - jitter: a number from 0.5 to 1, by which a pause is multiplied.
    package init(
        _ settings: PostgresSettings, size: Int = 8, mostWaiting: Int = 512,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0.5...1) }
    ) {
        core = OnLoop(PostgresPoolCore(settings, size: size, mostWaiting: mostWaiting, jitter: jitter, tally: tally))
        timeLimits = settings.timeLimits
    }

    deinit { PostgresLoop.shared.execute { [core] in core.value.close() } }

    /// Runs one statement on any of the connections. Its parameters are `$1`, `$2`, ….
    ///
    /// - Parameter deadline: for the wait and the statement; nil: as the settings say.
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

    /// Lends one connection to `body`, as for a transaction of several statements. It must not be used after that. One
    /// that comes back within a transaction, or with a statement under way, is closed.
    ///
    /// - Parameter deadline: for the wait alone; nil: as the settings say.
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

    /// Closes all connections. Statements that are under way fail, as do those that come later.
    package func close() async throws(PostgresError) {
        try await PostgresWait<Void>.run { [core] wait in
            core.value.close()
            wait.end(.success(()))
        }
    }

    /// The pool at this moment.
    package func state() async throws(PostgresError) -> PostgresPoolState {
        try await PostgresWait.run { [core] wait in wait.end(.success(core.value.state)) }
    }
}

/// The pool at one moment.
package struct PostgresPoolState: Sendable, Equatable {
    /// Connections that are there, and those of them that nobody uses.
    package var open = 0
    package var idle = 0
    package var connecting = 0
    package var waiting = 0
    /// How many connections were made, and how many could not be, since the pool was made.
    package var made = 0
    package var failed = 0
    /// Why the last connection could not be made; nil where it could.
    package var lastError: PostgresError?
}
