internal import NIOCore
internal import Telemetry

/// Counts the stalls of one event loop: periods in which blocking work or a long computation kept it from serving other
/// connections.
///
/// A timer checks the clock every 10 ms while the loop serves clients, and less often while it is idle, so that silent
/// connections cost nothing. Time in which the loop was runnable while the processors ran other threads is not counted.
final class LoopWatch {
    private static let interval = TimeAmount.milliseconds(10)
    /// The interval while the loop is idle.
    private static let idleInterval = TimeAmount.milliseconds(100)
    /// The loop is idle after more than this number of consecutive checks without work.
    private static let quietLooks = 5
    /// The stall length that is always counted. Stalls up to one interval shorter may be counted as well: a stall may
    /// begin directly after a check, so only a check that is late by no more than `limit - interval` rules out a stall
    /// of this length.
    private static let limit = TimeAmount.milliseconds(50)

    private let eventLoop: any EventLoop
    private let metrics: LoopMetrics
    /// The total time that the loop's thread has been runnable while the processors ran other threads, in nanoseconds.
    private let delay: () -> Int64
    /// The value of `delay` at the last check, or when work arrived after it.
    private var delayed: Int64
    private var due = NIODeadline.now() + LoopWatch.interval
    private var quiet = 0
    private var isIdle = false
    private var next: Scheduled<Void>?

    /// - Parameter delay: the source of the run queue delay. Nil: the kernel's counter, or 0 if the kernel has none.
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

    /// Notes new work for the loop: a connection, a request, or bytes of a WebSocket.
    func workBegan() {
        quiet = 0
        guard isIdle, next != nil else { return }
        isIdle = false
        // An overdue check runs in this loop iteration or the next. Any delay until now was other threads' work or a
        // stall. Delays from here on are measured from now.
        let isLate = NIODeadline.now() >= due
        countStall()
        due = .now() + Self.interval
        guard !isLate else { return }
        next?.cancel()
        schedule()
    }

    /// Counts a stall since the last check, if there was one.
    ///
    /// - Returns: whether there was a stall.
    @discardableResult
    private func countStall() -> Bool {
        let now = NIODeadline.now()
        let delayed = delay()
        let own = now - due - .nanoseconds(delayed - self.delayed)
        self.delayed = delayed
        // The stall may have begun directly after the last check.
        guard own + Self.interval > Self.limit else { return false }
        metrics.stalled(microseconds: own.nanoseconds / 1000)
        return true
    }

    private func look() {
        // A stall is often followed by another, so the loop stays in the short interval.
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
