internal import HTTP2
internal import NIOCore
internal import Sockets

/// A connection with a deadline that can be asked to close.
protocol TimedConnection: AnyObject {
    var setIndex: Int { get set }
    var nextDeadline: NIODeadline { get }
    /// The time since which the connection has been idle; nil while closing it would interrupt something.
    var idleSince: NIODeadline? { get }
    func deadlinePassed()
    /// Closes as soon as nothing is outstanding.
    func drain()
    func closeNow()
    /// Closes an idle connection at once, in favour of a new one.
    func evict()
}

extension TimedConnection {
    var idleSince: NIODeadline? { nil }
    func evict() { closeNow() }
}

/// The connections of one event loop. One sweep over all of them every 250 ms replaces a timer for each, which every
/// request would have to reset.
final class ConnectionSet {
    private let eventLoop: any EventLoop
    let flushes: EndOfTurnFlushes
    /// For the bytes that connections decrypt.
    let plaintext = ReceiveBuffers()
    /// A pool of field lists for response heads on HTTP/2 streams.
    private var fieldLists: [HTTP2FieldList] = []
    private var connections: [any TimedConnection] = []
    private var idle = IdleConnections()
    private var sweep: RepeatedTask?
    private var isDraining = false
    private var onEmpty: (() -> Void)?
    /// The task that closes the connections remaining after ``closeAll(farewell:)``; nil before that call.
    private var lastClosing: Scheduled<Void>?

    /// The interval of the sweep: the longest delay in noticing a deadline.
    private static let interval = TimeAmount.milliseconds(250)

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        flushes = EndOfTurnFlushes(eventLoop: eventLoop)
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        sweep = eventLoop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { _ in
            bound.value.checkDeadlines()
        }
    }

    var count: Int { connections.count }

    /// The time of the event loop's clock, to which all deadlines refer.
    var now: NIODeadline { eventLoop.now }

    /// Returns a field list for temporary use; return it with ``giveBack(_:)``.
    func takeFieldList() -> HTTP2FieldList { fieldLists.popLast() ?? HTTP2FieldList() }

    func giveBack(_ list: HTTP2FieldList) {
        if fieldLists.count < Self.mostFieldLists { fieldLists.append(list) }
    }

    private static let mostFieldLists = 16

    func insert(_ connection: any TimedConnection) {
        connection.setIndex = connections.count
        connections.append(connection)
        if isDraining { connection.drain() }
    }

    func remove(_ connection: any TimedConnection) {
        let index = connection.setIndex
        guard index >= 0 else { return }
        connection.setIndex = -1
        let last = connections.removeLast()
        if last !== connection {
            connections[index] = last
            last.setIndex = index
        }
        if connections.isEmpty, let onEmpty {
            self.onEmpty = nil
            onEmpty()
        }
    }

    /// Closes the connection that has been idle the longest.
    ///
    /// - Returns: false if no connection is idle.
    func evictIdlest() -> Bool {
        guard let connection = idle.next(among: connections, at: now) else { return false }
        connection.evict()
        return true
    }

    private func checkDeadlines() {
        let now = self.now
        idle.forget()
        for connection in connections where connection.nextDeadline <= now { connection.deadlinePassed() }
    }

    /// Asks every connection to finish its outstanding work and close; `done` is called when all have closed.
    func drain(done: @escaping () -> Void) {
        isDraining = true
        onEmpty = done
        for connection in connections { connection.drain() }
        if connections.isEmpty, onEmpty != nil {
            onEmpty = nil
            done()
        }
    }

    /// Closes all connections. Those with a closing handshake, such as WebSockets, have `farewell` for it. Further
    /// calls have no effect.
    func closeAll(farewell: TimeAmount) {
        guard lastClosing == nil else { return }
        closeNow()
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        lastClosing = eventLoop.scheduleTask(in: farewell) { bound.value.closeNow() }
    }

    private func closeNow() {
        for connection in connections { connection.closeNow() }
    }

    func stop() {
        sweep?.cancel()
        sweep = nil
        lastClosing?.cancel()
    }
}
