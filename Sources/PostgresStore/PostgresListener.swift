internal import Locking
package import Postgres

/// One connection of its own that hears what is announced on a channel, for as long as somebody follows it. After a
/// loss it connects again, to whichever host takes writes.
///
/// A pooler in transaction mode takes LISTEN and delivers nothing to a connection that is idle. So a message to oneself,
/// sent on another connection, decides whether anything is heard; until it has come, and where it does not come, followers
/// ask by themselves. No statement runs meanwhile: with its response a pooler may deliver a message by chance.
package final class PostgresListener: Sendable {
    private struct State {
        /// The connection that listens, while no statement is under way on it.
        var free: PostgresConnection?
        /// The connection that listens; nil where there is none.
        var current: PostgresConnection?
        /// Whether a message has been heard on it.
        var isListening = false
        /// Whether it is another connection than a reader knew last.
        var isNew = false
    }

    /// How long a message to oneself may take.
    private static let patience = Duration.seconds(2)
    /// The wait before it is tried again where nothing was heard.
    private static let deafness = Duration.seconds(60)
    private static let (firstPause, longestPause) = (Duration.milliseconds(100), Duration.seconds(5))

    private let settings: PostgresSettings
    private let channel: String
    private let jitter: @Sendable () -> Double
    private let state = Locked(State())

    /// - Parameter jitter: a number from 0.5 to 1, by which a pause is multiplied.
    package init(
        _ settings: PostgresSettings, channel: String,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0.5...1) }
    ) {
        self.settings = settings
        self.channel = channel
        self.jitter = jitter
    }

    /// Whether messages arrive.
    package var isListening: Bool { state.withLock { $0.isListening } }

    /// Listens until cancelled.
    ///
    /// - Parameters:
    ///   - pool: sends the message to oneself.
    ///   - ring: called with each message, and when the connection is another one.
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
        /// Nothing was heard.
        case deaf
    }

    /// Listens on one connection until it ends, or for as long as nothing is heard.
    private func listen(_ pool: PostgresPool, _ ring: @escaping @Sendable () -> Void) async throws -> End {
        let connection = try await PostgresConnection.connect(settings)
        defer { forget(connection) }
        try await connection.listen(channel)
        use(connection)
        ring()
        // Others' messages prove nothing: a pooler may deliver them with the response to LISTEN.
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

    /// Runs a statement on the connection that listens, where it is free.
    ///
    /// - Returns: nil where it is not.
    func query(_ sql: String, _ values: [PostgresValue]) async throws(PostgresError) -> PostgresRows? {
        guard let connection = takeFree() else { return nil }
        do {
            let rows = try await connection.query(sql, values)
            giveBack(connection)
            return rows
        } catch {
            // Its end ends the listening, which then begins on another one.
            connection.close()
            throw error
        }
    }

    /// Whether the connection is another one than when this was asked last.
    func takeReconnected() -> Bool {
        state.withLock { state in
            defer { state.isNew = false }
            return state.isNew
        }
    }

    /// Leaves the server for one that takes writes.
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
