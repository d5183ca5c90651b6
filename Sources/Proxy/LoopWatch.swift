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
    /// How long the loop's thread has been ready to run while the processors were busy with others, in nanoseconds.
    private let delay: () -> Int64
    /// At the last look, or when work came after it.
    private var delayed: Int64
    private var due = NIODeadline.now() + LoopWatch.interval
    private var quiet = 0
    private var isIdle = false
    private var next: Scheduled<Void>?

    /// - Parameter delay: nil: the kernel's count; 0 where it keeps none.
    /// - Precondition: on the loop's thread.
    init(_ eventLoop: any EventLoop, metrics: LoopMetrics, delay: (() -> Int64)? = nil) {
        eventLoop.preconditionInEventLoop()
        self.eventLoop = eventLoop
        self.metrics = metrics
        let counted = RunQueueDelay()
        self.delay = delay ?? { counted?.nanoseconds() ?? 0 }
        delayed = self.delay()
        schedule()
    }

    /// Work has come for the loop: a connection, a request, or bytes of a WebSocket.
    func workBegan() {
        quiet = 0
        guard isIdle, next != nil else { return }
        isIdle = false
        // A look that is late comes in this turn or the next one. Until now others had the processors, or the loop was
        // stalled; what keeps it from here on is measured anew.
        let isLate = NIODeadline.now() >= due
        countStall()
        due = .now() + Self.interval
        guard !isLate else { return }
        next?.cancel()
        schedule()
    }

    /// Counts a stall since the last look, if there was one.
    ///
    /// - Returns: whether there was.
    @discardableResult
    private func countStall() -> Bool {
        let now = NIODeadline.now()
        let delayed = delay()
        let own = now - due - .nanoseconds(delayed - self.delayed)
        self.delayed = delayed
        // The stall may have begun as soon as the last look was over.
        guard own + Self.interval > Self.limit else { return false }
        metrics.stalled(microseconds: own.nanoseconds / 1000)
        return true
    }

    private func look() {
        // A stall seldom comes alone.
        quiet = countStall() || metrics.hasWork ? 0 : quiet + 1
        isIdle = quiet > Self.quietLooks
        due = .now() + (isIdle ? Self.idleInterval : Self.interval)
        schedule()
    }

    private func schedule() {
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        next = eventLoop.scheduleTask(deadline: due) { bound.value.look() }
    }

    func close() {
        next?.cancel()
        next = nil
    }
}
