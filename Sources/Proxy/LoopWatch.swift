internal import NIOCore
internal import Telemetry

/// Counts the stalls of one event loop: times when it did nothing for anyone else because something blocked it, or
/// computed for long.
///
/// The loop looks at the clock every 10 ms while it has clients. Time in which the loop was ready to run while the
/// processors were busy with other threads is not its own and is left out.
final class LoopWatch {
    private static let interval = TimeAmount.milliseconds(10)
    /// Without clients, so that an idle gateway sleeps.
    private static let idleInterval = TimeAmount.milliseconds(100)
    /// Every stall of this length is counted, and some that are shorter by an interval: a look that is late by less
    /// than the difference cannot have been kept for so long.
    private static let limit = TimeAmount.milliseconds(50)

    private let eventLoop: any EventLoop
    private let metrics: LoopMetrics
    private let delay = RunQueueDelay()
    private var delayed: Int64 = 0
    private var next: Scheduled<Void>?

    /// - Precondition: on the loop's thread.
    init(_ eventLoop: any EventLoop, metrics: LoopMetrics) {
        eventLoop.preconditionInEventLoop()
        self.eventLoop = eventLoop
        self.metrics = metrics
        look(due: .now())
    }

    private func look(due: NIODeadline) {
        let now = NIODeadline.now()
        let delayed = delay?.nanoseconds() ?? 0
        let own = now - due - .nanoseconds(delayed - self.delayed)
        self.delayed = delayed
        // The stall may have begun as soon as the last look was over.
        if own + Self.interval > Self.limit { metrics.stalled(microseconds: own.nanoseconds / 1000) }
        let due = now + (metrics.hasClients ? Self.interval : Self.idleInterval)
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        next = eventLoop.scheduleTask(deadline: due) { bound.value.look(due: due) }
    }

    func close() {
        next?.cancel()
        next = nil
    }
}
