internal import Clocks
internal import Logging
internal import Settings
internal import Synchronization
internal import Telemetry

/// Sends all metrics to a collector at fixed intervals. A failed delivery is not repeated: the counters are cumulative,
/// so the next delivery includes its counts.
final class MetricsExport: Sendable {
    private let registry: MetricsRegistry
    private let collector: Collector
    private let attributes: [(name: String, value: String)]
    private let interval: Duration
    private let timeout: Duration
    private let tally: ExportTally
    private let logger: Logger
    private let isFailing = Atomic(false)

    /// - Parameters:
    ///   - attributes: the attributes of the resource.
    ///   - timeout: the time limit of one delivery.
    init(
        _ registry: MetricsRegistry, to collector: Collector, attributes: [(name: String, value: String)],
        every interval: Duration, timeout: Duration, tally: ExportTally, logger: Logger
    ) {
        self.registry = registry
        self.collector = collector
        self.attributes = attributes
        self.interval = interval
        self.timeout = min(timeout, interval)
        self.tally = tally
        self.logger = logger
    }

    /// Sends at every interval until it is cancelled, and then once more, so that the final counts are delivered.
    func run() async {
        var next = ContinuousClock.now + interval
        while (try? await Task.sleep(until: next, clock: .continuous)) != nil {
            await send(deadline: timeout)
            // A slow delivery shifts the schedule instead of causing a burst.
            next = max(next + interval, .now)
        }
        // This task is cancelled, so only an unstructured task can still send.
        await Task { await send(deadline: min(timeout, .seconds(2))) }.value
    }

    private func send(deadline: Duration) async {
        let body = registry.otlp(attributes: attributes, now: WallClock.nanoseconds())
        let outcome = await collector.post(body, deadline: deadline)
        // The final delivery includes the counts of this one.
        if Task.isCancelled { return }
        switch outcome {
        case .taken(rejected: 0):
            tally.exported(1)
            if isFailing.exchange(false, ordering: .relaxed) { logger.notice("the collector accepts metrics again") }
        case .taken(let rejected): failed("it rejected \(rejected) data points")
        case .refused(let reason), .later(let reason, _): failed(reason)
        }
    }

    private func failed(_ reason: String) {
        tally.lost(1)
        // Logged once per outage, not for each delivery.
        guard !isFailing.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "metrics are not sent: the collector does not accept them",
            metadata: ["endpoint": "\(collector.endpoint)", "reason": "\(reason)"])
    }
}
