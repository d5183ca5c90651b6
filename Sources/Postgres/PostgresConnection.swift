/// One connection to the server that takes writes. One statement is under way on it at a time.
package final class PostgresConnection: Sendable {
    private let handle: OnLoop<PostgresHandle>
    private let timeLimits: PostgresTimeLimits
    /// Whether it is a pool's, to which it goes back.
    private let isLent: Bool
    /// The messages of the channels that are listened to. The stream ends with the connection, and keeps the newest
    /// thousand of those that nobody has taken.
    package let notifications: AsyncStream<PostgresNotification>

    /// - Precondition: on the loop's thread.
    private init(_ handle: PostgresHandle, _ timeLimits: PostgresTimeLimits) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(1000))
        self.handle = OnLoop(handle)
        self.timeLimits = timeLimits
        isLent = false
        notifications = stream
        handle.notified = { continuation.yield($0) }
        handle.ended = { _ in continuation.finish() }
    }

    /// A connection of a pool, for one who needs several statements on it.
    init(lent handle: OnLoop<PostgresHandle>, _ timeLimits: PostgresTimeLimits) {
        self.handle = handle
        self.timeLimits = timeLimits
        isLent = true
        notifications = AsyncStream { $0.finish() }
    }

    deinit { if !isLent { close() } }

    /// Connects to the first of the hosts that takes writes.
    ///
    /// - Parameter deadline: nil: as long as the settings give a response.
    package static func connect(
        _ settings: PostgresSettings, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> PostgresConnection {
        let deadline = deadline ?? .now + settings.timeLimits.response
        let handle = try await PostgresConnector(settings).open(until: deadline)
        return try await PostgresWait.run { $0.end(.success(PostgresConnection(handle.value, settings.timeLimits))) }
    }

    /// Runs one statement. Its parameters are `$1`, `$2`, ….
    ///
    /// - Parameter deadline: nil: as the settings say. When it passes, the connection is closed.
    package func query(
        _ sql: String, _ values: [PostgresValue] = [], deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> PostgresRows {
        let deadline = deadline ?? .now + timeLimits.response
        return try await PostgresWait.run { [handle] wait in
            handle.value.query(sql, values, deadline: deadline) { wait.end($0) }
        }
    }

    /// Begins to listen to a channel; see ``notifications``. Needs a connection of its own, with no pooler in between.
    package func listen(_ channel: String) async throws(PostgresError) {
        var name = ""
        for character in channel.unicodeScalars { name += character == "\"" ? "\"\"" : String(character) }
        _ = try await query("LISTEN \"\(name)\"")
    }

    /// Closes the connection, and ends what is under way on it.
    package func close() {
        PostgresLoop.shared.execute { [handle] in
            let ended = handle.value.ended
            handle.value.close()
            ended(.closed)
        }
    }
}

/// Finds the server that takes writes, among the hosts and their addresses, one after another.
struct PostgresConnector {
    private let settings: PostgresSettings

    init(_ settings: PostgresSettings) { self.settings = settings }

    /// Each host has its share of the time that is left, so that one that does not respond leaves some to the others.
    func open(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> OnLoop<PostgresHandle> {
        let library = try PostgresLibrary.shared.get()
        var failures: [PostgresError] = []
        for (number, host) in settings.hosts.enumerated() {
            let share = Self.share(until: deadline, among: settings.hosts.count - number)
            do {
                return try await open(host, library, until: share)
            } catch {
                // Other hosts have the same users.
                if error.kind == .refused || error.kind == .cancelled { throw error }
                failures.append(error)
            }
        }
        guard let decisive = Self.decisive(failures) else { throw PostgresError(.unusable, "no host is configured") }
        guard failures.count > 1 else { throw decisive }
        let messages = failures.map(\.message).joined(separator: "; ")
        throw PostgresError(decisive.kind, messages, sqlState: decisive.sqlState)
    }

    /// A server that takes no writes, before those that are away: it is the one to promote. Then a failure that may pass
    /// by itself, before one that somebody must correct: another host may take writes later.
    private static func decisive(_ failures: [PostgresError]) -> PostgresError? {
        failures.last { $0.condition == .readOnly } ?? failures.last { $0.kind != .tls } ?? failures.last
    }

    private func open(
        _ host: PostgresSettings.Host, _ library: PostgresLibrary, until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> OnLoop<PostgresHandle> {
        let addresses: [String?] =
            host.isSocket ? [nil] : try await PostgresAddresses.find(host.name, until: deadline)
        var failures: [PostgresError] = []
        for (number, address) in addresses.enumerated() {
            do {
                let share = Self.share(until: deadline, among: addresses.count - number)
                return try await open(settings.parameters(host, address: address), library, until: share)
            } catch {
                if error.kind == .refused || error.kind == .cancelled { throw error }
                failures.append(error)
            }
        }
        throw Self.decisive(failures) ?? .deadline
    }

    private func open(
        _ parameters: [(name: String, value: String)], _ library: PostgresLibrary,
        until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> OnLoop<PostgresHandle> {
        let responseSize = settings.timeLimits.responseSize
        return try await PostgresWait.run { wait in
            let handle = PostgresHandle(library, responseSize: responseSize)
            let lent = OnLoop(handle)
            // The handle is held by its own operation until that has ended.
            handle.connect(parameters, deadline: deadline) { outcome in
                if !wait.end(outcome.map { _ in lent }) { lent.value.close() }
            }
        }
    }

    private static func share(
        until deadline: ContinuousClock.Instant, among count: Int
    ) -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        return now + max(.zero, (deadline - now) / count)
    }
}
