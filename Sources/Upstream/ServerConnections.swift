internal import Curl
internal import NIOCore
internal import Pipeline

/// The connections to one server on one event loop.
final class ServerConnections {
    let number: Int
    private let server: UpstreamServer
    private let settings: UpstreamSettings
    private let loop: CurlLoop
    /// The idle connections, most recently used last. The last one is reused first, so that surplus connections expire.
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

    /// Opens a connection for an exchange, which is notified of the outcome.
    func connect(for exchange: UpstreamExchange) throws(CurlFailure) -> UpstreamConnection {
        let target = CurlTarget(url: server.url, connectTimeout: exchange.timeouts.connect, access: server.access)
        openedCount += 1
        return try UpstreamConnection(for: exchange, to: target, in: self, maximumAge: maximumAge, on: loop)
    }

    /// The maximum age of the next connection. It varies by up to a tenth in turn, so that connections opened together
    /// do not all end together.
    private var maximumAge: TimeAmount {
        .nanoseconds(settings.maximumAge.nanoseconds / 160 * Int64(160 - openedCount % 16))
    }

    /// Removes and returns the most recently used idle connection; nil if there is none. The exchange checks the
    /// connection later, when it sends.
    func takeIdle(for exchange: UpstreamExchange) -> UpstreamConnection? {
        guard let connection = idle.popLast() else { return nil }
        connection.reuse(for: exchange)
        return connection
    }

    /// Returns a connection to the pool after its exchange, if no bytes are left on it: bytes after the response would
    /// be taken for the next one, possibly another client's.
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

    /// Closes connections that have been idle for too long or are too old.
    func sweep(at now: NIODeadline) {
        let oldest = now - settings.keepAlive
        guard idle.contains(where: { $0.idleSince < oldest || $0.endsAt <= now }) else { return }
        idle.removeAll { connection in
            guard connection.idleSince < oldest || connection.endsAt <= now else { return false }
            connection.close()
            return true
        }
    }

    /// Returns the change in the number of idle connections since the last call.
    func takeIdleChange() -> Int {
        defer { reportedIdleCount = idle.count }
        return idle.count - reportedIdleCount
    }

    /// Counts a connection on which the server sent bytes without a request.
    func sawUnsolicitedBytes() { unsolicited += 1 }

    /// Returns the number of such connections since the last call.
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
