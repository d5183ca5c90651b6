/// One connection to the server that accepts writes. It runs one statement at a time.
package final class PostgresConnection: Sendable {
    private let handle: OnLoop<PostgresHandle>
    private let timeLimits: PostgresTimeLimits
    /// Whether the connection belongs to a pool and is returned to it.
    private let isLent: Bool
    /// The notifications of the channels being listened to. The stream ends with the connection, and buffers the newest
    /// thousand notifications.
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

    /// A pool's connection, for a caller that needs several statements on it.
    init(lent handle: OnLoop<PostgresHandle>, _ timeLimits: PostgresTimeLimits) {
        self.handle = handle
        self.timeLimits = timeLimits
        isLent = true
        notifications = AsyncStream { $0.finish() }
    }

    deinit { if !isLent { close() } }

    /// Connects to the first host that accepts writes.
    ///
    /// - Parameter deadline: nil: after the response time limit of the settings.
    package static func connect(
        _ settings: PostgresSettings, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> PostgresConnection {
        let deadline = deadline ?? .now + settings.timeLimits.response
        let handle = try await PostgresConnector(settings).open(until: deadline)
        return try await PostgresWait.run { $0.end(.success(PostgresConnection(handle.value, settings.timeLimits))) }
    }

    /// Runs one statement. Its parameters are `$1`, `$2`, ….
    ///
    /// - Parameter deadline: nil: after the response time limit of the settings. When it passes, the connection is
    ///   closed.
    package func query(
        _ sql: String, _ values: [PostgresValue] = [], deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> PostgresRows {
        let deadline = deadline ?? .now + timeLimits.response
        return try await PostgresWait.run { [handle] wait in
            handle.value.query(sql, values, deadline: deadline) { wait.end($0) }
        }
    }

    /// Starts listening to a channel; see ``notifications``. Requires a dedicated connection without a pooler.
    package func listen(_ channel: String) async throws(PostgresError) {
        var name = ""
        for character in channel.unicodeScalars { name += character == "\"" ? "\"\"" : String(character) }
        _ = try await query("LISTEN \"\(name)\"")
    }

    /// Closes the connection and fails the statement in progress.
    package func close() {
        PostgresLoop.shared.execute { [handle] in
            let ended = handle.value.ended
            handle.value.close()
            ended(.closed)
        }
    }
}

/// Finds the server that accepts writes by trying the hosts and their addresses in order.
struct PostgresConnector {
    private let settings: PostgresSettings

    init(_ settings: PostgresSettings) { self.settings = settings }

    /// Each host gets an equal share of the remaining time, so that an unresponsive one leaves time for the others.
    func open(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> OnLoop<PostgresHandle> {
        let library = try PostgresLibrary.shared.get()
        var failures: [PostgresError] = []
        for (number, host) in settings.hosts.enumerated() {
            let share = Self.share(until: deadline, among: settings.hosts.count - number)
            do {
                return try await open(host, library, until: share)
            } catch {
                // Other hosts have the same roles and passwords.
                if error.kind == .refused || error.kind == .cancelled { throw error }
                failures.append(error)
            }
        }
        guard let decisive = Self.decisive(failures) else { throw PostgresError(.unusable, "no host is configured") }
        guard failures.count > 1 else { throw decisive }
        let messages = failures.map(\.message).joined(separator: "; ")
        throw PostgresError(decisive.kind, messages, sqlState: decisive.sqlState)
    }

    /// The error to report: first that of a server that accepts no writes, since it is the one to promote; then a
    /// possibly temporary error before one that needs a correction, since another host may accept writes later.
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
            // The handle is retained by its own operation until that has ended.
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
