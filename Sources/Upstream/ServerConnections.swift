internal import Curl
internal import NIOCore
internal import Pipeline

/// The connections to one server on one event loop.
final class ServerConnections {
    let number: Int
    private let server: UpstreamServer
    private let settings: UpstreamSettings
    private let loop: CurlLoop
    /// The most recently used last: it is reused first, so that those no longer needed grow old and go.
    private var idle: [UpstreamConnection] = []
    private var isClosed = false
    private var reportedIdleCount = 0
    private var unsolicited = 0
    private var openedCount = 0

    init(number: Int, settings: UpstreamSettings, loop: CurlLoop) {
        self.number = number
        self.server = settings.servers[number]
        self.settings = settings
        self.loop = loop
    }

    /// Connects for an exchange, which hears how it went.
    func connect(for exchange: UpstreamExchange) throws(CurlFailure) -> UpstreamConnection {
        let target = CurlTarget(url: server.url, connectTimeout: exchange.timeouts.connect, access: server.access)
        openedCount += 1
        return try UpstreamConnection(for: exchange, to: target, in: self, maximumAge: maximumAge, on: loop)
    }

    /// Connections that were opened together do not all end together: up to a tenth is taken off, in turn.
    private var maximumAge: TimeAmount {
        .nanoseconds(settings.maximumAge.nanoseconds / 160 * Int64(160 - openedCount % 16))
    }

    /// The exchange looks whether the connection is still good when it sends: that is later.
    func takeIdle(for exchange: UpstreamExchange) -> UpstreamConnection? {
        guard let connection = idle.popLast() else { return nil }
        connection.reuse(for: exchange)
        return connection
    }

    /// Keeps a connection whose exchange is complete for another, if nothing is left on it: bytes behind the response
    /// would be taken for the next one's, which may be another client's.
    func giveBack(_ connection: UpstreamConnection) {
        let now = NIODeadline.now()
        guard idle.count < settings.maximumIdleConnections, !isClosed, now < connection.endsAt, connection.isEmpty()
        else {
            connection.close()
            return
        }
        connection.becomeIdle(at: now)
        idle.append(connection)
    }

    func discardIdle(_ connection: UpstreamConnection) {
        idle.removeAll { $0 === connection }
        connection.close()
    }

    /// Closes what has been idle for too long, or is too old.
    func sweep(at now: NIODeadline) {
        let oldest = now - settings.keepAlive
        guard idle.contains(where: { $0.idleSince < oldest || $0.endsAt <= now }) else { return }
        idle.removeAll { connection in
            guard connection.idleSince < oldest || connection.endsAt <= now else { return false }
            connection.close()
            return true
        }
    }

    /// How many more are idle than when this was asked last.
    func takeIdleChange() -> Int {
        defer { reportedIdleCount = idle.count }
        return idle.count - reportedIdleCount
    }

    /// The server has sent bytes that no request asked for.
    func sawUnsolicitedBytes() { unsolicited += 1 }

    /// On how many connections it has since this was asked last.
    func takeUnsolicited() -> Int {
        defer { unsolicited = 0 }
        return unsolicited
    }

    /// Closes idle connections; those in use are closed when their exchange ends.
    func close() {
        isClosed = true
        for connection in idle { connection.close() }
        idle.removeAll()
    }
}
