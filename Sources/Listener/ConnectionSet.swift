internal import HTTP2
internal import NIOCore

/// A connection that gives up when its deadline has passed, and that can be asked to end.
protocol TimedConnection: AnyObject {
    var setIndex: Int { get set }
    var nextDeadline: NIODeadline { get }
    /// Since when nothing has been under way that closing it would break; nil while something is.
    var idleSince: NIODeadline? { get }
    func deadlinePassed()
    /// Ends as soon as nothing is outstanding.
    func drain()
    func closeNow()
    /// Ends at once, being idle, in favour of another one.
    func evict()
}

extension TimedConnection {
    var idleSince: NIODeadline? { nil }
    func evict() { closeNow() }
}

/// The connections of one event loop. One look at all of them now and then replaces a timer for each, which
/// every request would have to move.
final class ConnectionSet {
    private let eventLoop: any EventLoop
    let flushes: EndOfTurnFlushes
    /// For heads of responses on HTTP/2 streams.
    private var fieldLists: [HTTP2FieldList] = []
    private var connections: [any TimedConnection] = []
    private var idle = IdleConnections()
    private var sweep: RepeatedTask?
    private var isDraining = false
    private var onEmpty: (() -> Void)?
    /// Ends what is left after ``closeAll(farewell:)``; nil before that.
    private var lastClosing: Scheduled<Void>?

    /// A deadline is noticed late by at most this.
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

    /// The event loop's clock, which every deadline is of.
    var now: NIODeadline { eventLoop.now }

    /// An empty list, to be given back.
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
    /// - Returns: whether there was one.
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

    /// Lets every connection finish what it has begun; `done` is called when all have gone.
    func drain(done: @escaping () -> Void) {
        isDraining = true
        onEmpty = done
        for connection in connections { connection.drain() }
        if connections.isEmpty, onEmpty != nil {
            onEmpty = nil
            done()
        }
    }

    /// Closes all connections. Those that take their leave first, such as WebSockets, have `farewell` for it. Further calls
    /// change nothing.
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
