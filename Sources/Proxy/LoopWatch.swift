internal import NIOCore
internal import Telemetry

/// Counts the stalls of one event loop: times when it did nothing for anyone else because something blocked it, or
/// computed for long.
///
/// The loop looks at the clock every 10 ms while it serves its clients, and less often while it has nothing to do, so
/// that silent connections cost nothing. Time in which the loop was ready to run while the processors were busy with
/// other threads is not its own and is left out.
final class LoopWatch {
    private static let interval = TimeAmount.milliseconds(10)
    /// While nothing is to be done.
    private static let idleInterval = TimeAmount.milliseconds(100)
    /// After so many looks in which nothing happened, the loop is idle.
    private static let quietLooks = 5
    /// Every stall of this length is counted, and some that are shorter by an interval: a look that is late by less
    /// than the difference cannot have been kept for so long.
    private static let limit = TimeAmount.milliseconds(50)

    private let eventLoop: any EventLoop
    private let metrics: LoopMetrics
    private let delay = RunQueueDelay()
    private var delayed: Int64 = 0
    private var quiet = 0
    private var isIdle = false
    private var due = NIODeadline.now()
    private var next: Scheduled<Void>?

    /// - Precondition: on the loop's thread.
    init(_ eventLoop: any EventLoop, metrics: LoopMetrics) {
        eventLoop.preconditionInEventLoop()
        self.eventLoop = eventLoop
        self.metrics = metrics
        look()
    }

    /// Work has come for the loop: a connection, a request, or bytes of a WebSocket.
    func workBegan() {
        quiet = 0
        guard isIdle, next != nil else { return }
        let now = NIODeadline.now()
        // A look that is late already comes in this tick.
        guard now < due else { return }
        next?.cancel()
        isIdle = false
        delayed = delay?.nanoseconds() ?? 0
        schedule(now + Self.interval)
    }

    private func look() {
        let now = NIODeadline.now()
        let delayed = delay?.nanoseconds() ?? 0
        let own = now - due - .nanoseconds(delayed - self.delayed)
        self.delayed = delayed
        // The stall may have begun as soon as the last look was over.
        let isStall = own + Self.interval > Self.limit
        if isStall { metrics.stalled(microseconds: own.nanoseconds / 1000) }
        // A stall seldom comes alone.
        quiet = isStall || metrics.hasWork ? 0 : quiet + 1
        isIdle = quiet > Self.quietLooks
        schedule(now + (isIdle ? Self.idleInterval : Self.interval))
    }

    private func schedule(_ due: NIODeadline) {
        self.due = due
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        next = eventLoop.scheduleTask(deadline: due) { bound.value.look() }
    }

    func close() {
        next?.cancel()
        next = nil
    }
}
