internal import Locking
package import Postgres

/// A dedicated connection that listens on a channel while a follower needs it. After a loss it reconnects to whichever
/// host accepts writes.
///
/// A pooler in transaction mode accepts LISTEN but delivers nothing to an idle connection. A message to itself, sent on
/// another connection, therefore tests whether notifications arrive. Until it has arrived, or if it does not, followers
/// poll. No statement runs on the listening connection meanwhile: a pooler may deliver a message with its response by
/// chance.
package final class PostgresListener: Sendable {
    private struct State {
        /// The listening connection while no statement runs on it.
        var free: PostgresConnection?
        /// The listening connection; nil if there is none.
        var current: PostgresConnection?
        /// Whether the test message has arrived on it.
        var isListening = false
        /// Whether the connection has changed since the last call of ``takeReconnected()``.
        var isNew = false
    }

    /// The longest wait for the test message.
    private static let patience = Duration.seconds(2)
    /// The pause before the next attempt if no message arrived.
    private static let deafness = Duration.seconds(60)
    private static let (firstPause, longestPause) = (Duration.milliseconds(100), Duration.seconds(5))

    private let settings: PostgresSettings
    private let channel: String
    private let jitter: @Sendable () -> Double
    private let state = Locked(State())

    /// - Parameter jitter: a factor for pauses, from 0.5 to 1.
    package init(
        _ settings: PostgresSettings, channel: String,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0.5...1) }
    ) {
        self.settings = settings
        self.channel = channel
        self.jitter = jitter
    }

    /// Whether notifications arrive.
    package var isListening: Bool { state.withLock { $0.isListening } }

    /// Listens until cancelled.
    ///
    /// - Parameters:
    ///   - pool: sends the test message.
    ///   - ring: called for each message, and when the connection changes.
    func run(_ pool: PostgresPool, _ ring: @escaping @Sendable () -> Void) async {
        var failures = 0
        while !Task.isCancelled {
            var pause = min(Self.longestPause, Self.firstPause * (1 << min(failures, 10)))
            do {
                switch try await listen(pool, ring) {
                case .lost: failures = 0
                case .deaf: pause = Self.deafness
                }
            } catch {
                failures += 1
            }
            ring()
            do { try await Task.sleep(for: pause * jitter()) } catch { return }
        }
    }

    private enum End {
        /// The connection has ended.
        case lost
        /// The test message did not arrive.
        case deaf
    }

    /// Listens on one connection until it ends, or until the test message times out.
    private func listen(_ pool: PostgresPool, _ ring: @escaping @Sendable () -> Void) async throws -> End {
        let connection = try await PostgresConnection.connect(settings)
        defer { forget(connection) }
        try await connection.listen(channel)
        use(connection)
        ring()
        // Other messages prove nothing: a pooler may deliver them with the response to LISTEN.
        let own = String(UInt64.random(in: .min ... .max), radix: 36)
        return try await withThrowingTaskGroup(of: End?.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await message in connection.notifications {
                    if message.payload == own { self.hear(on: connection) }
                    ring()
                }
                return .lost
            }
            group.addTask { [channel] in
                _ = try await pool.query("SELECT pg_notify($1, $2)", [.text(channel), .text(own)])
                try await Task.sleep(for: Self.patience)
                return self.isListening ? nil : .deaf
            }
            while let end = try await group.next() {
                if let end { return end }
            }
            return .lost
        }
    }

    /// Runs a statement on the listening connection if it is free.
    ///
    /// - Returns: nil if it is not free.
    func query(_ sql: String, _ values: [PostgresValue]) async throws(PostgresError) -> PostgresRows? {
        guard let connection = takeFree() else { return nil }
        do {
            let rows = try await connection.query(sql, values)
            giveBack(connection)
            return rows
        } catch {
            // Closing it ends ``listen(_:_:)``, which then starts on a new connection.
            connection.close()
            throw error
        }
    }

    /// Whether the connection has changed since the previous call.
    func takeReconnected() -> Bool {
        state.withLock { state in
            defer { state.isNew = false }
            return state.isNew
        }
    }

    /// Disconnects, in order to find a server that accepts writes.
    func reconnect() { state.withLock { $0.current }?.close() }

    // MARK: State

    private func use(_ connection: PostgresConnection) {
        state.withLock { $0 = State(free: connection, current: connection, isNew: true) }
    }

    private func hear(on connection: PostgresConnection) {
        state.withLock { if $0.current === connection { $0.isListening = true } }
    }

    private func forget(_ connection: PostgresConnection) {
        connection.close()
        state.withLock { if $0.current === connection { $0 = State() } }
    }

    private func takeFree() -> PostgresConnection? {
        state.withLock { state in
            guard state.isListening else { return nil }
            defer { state.free = nil }
            return state.free
        }
    }

    private func giveBack(_ connection: PostgresConnection) {
        state.withLock { if $0.current === connection { $0.free = connection } }
    }
}
