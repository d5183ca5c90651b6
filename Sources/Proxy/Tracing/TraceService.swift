internal import Cryptography
internal import Encoding
package import HTTPClient
package import Logging
internal import Pipeline
package import Settings
internal import Synchronization
package import Telemetry

/// Decides which requests are traced, and sends finished spans to the collector in the background. Spans that the
/// collector does not accept in time are dropped and counted.
package final class TraceService: Sendable {
    package let settings: TracingSettings
    package let recorder: SpanRecorder
    private let collector: Collector
    private let encoder: SpanEncoder
    private let tally: ExportTally
    private let metrics: MetricsExport?
    private let logger: Logger
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let isFailing = Atomic(false)

    /// The maximum number of requests in one delivery.
    private static let batch = 512

    /// - Parameter metrics: the metrics that are sent as well if the settings contain a metrics endpoint.
    package init(
        _ settings: TracingSettings, fetcher: any Fetcher, tallies: ExportTallies, metrics: MetricsRegistry,
        logger: Logger
    ) {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.settings = settings
        collector = Collector(settings.endpoint, settings.headers, fetcher: fetcher)
        let (tally, attributes) = (tallies.spans, Self.resource(settings))
        self.tally = tally
        self.metrics = settings.metricsEndpoint.map { endpoint in
            MetricsExport(
                metrics, to: Collector(endpoint, settings.headers, fetcher: fetcher), attributes: attributes,
                every: settings.metricsInterval, timeout: settings.timeout, tally: tallies.metrics, logger: logger)
        }
        self.logger = logger
        (self.signals, self.signal) = (signals, signal)
        recorder = SpanRecorder(
            sampler: TraceSampler(share: settings.sampling, followsClient: settings.followsClient),
            queue: SpanQueue(capacity: settings.queue, tally: tally) { signal.yield() })
        encoder = SpanEncoder(attributes: attributes)
    }

    /// The resource attributes that identify this process (OpenTelemetry's conventions, Service). The settings may
    /// override them.
    private static func resource(_ settings: TracingSettings) -> [(name: String, value: String)] {
        let own = [
            ("service.name", settings.serviceName), ("service.version", GatehouseVersion.current),
            ("service.instance.id", instance),
        ]
        let given = settings.attributes.map { ($0.name, $0.value) }
        return own.filter { name, _ in !given.contains { $0.0 == name } } + given
    }

    private static let instance = Hexadecimal.encode(SecureRandom.bytes(16))

    // MARK: Sending

    /// Sends until it is cancelled, and then sends the remaining spans and metrics once.
    package func run() async {
        async let metrics: Void? = metrics?.run()
        await sendSpans()
        await metrics
    }

    /// Sends every second, and earlier when many spans wait.
    private func sendSpans() async {
        let ticker = Task { [signal] in
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(1))
                signal.yield()
            }
        }
        defer { ticker.cancel() }
        var unsent: SpanQueue.Batch?
        for await _ in signals {
            unsent = await sendAll()
            if unsent != nil { break }
        }
        // This task is cancelled, so only an unstructured task can still send.
        await Task { [unsent] in await sendLast(unsent) }.value
    }

    /// - Returns: the batch that was being sent when the task was cancelled; nil if everything was sent.
    private func sendAll() async -> SpanQueue.Batch? {
        while true {
            let batch = recorder.queue.take(Self.batch)
            if batch.isEmpty { return nil }
            guard await send(batch, attempts: 4, deadline: settings.timeout) else { return batch }
        }
    }

    /// Sends the remaining spans within the timeout of one delivery, at most two seconds. Spans that are left are
    /// counted as lost.
    private func sendLast(_ unsent: SpanQueue.Batch?) async {
        let end = ContinuousClock.now + min(settings.timeout, .seconds(2))
        recorder.queue.close()
        var next = unsent ?? recorder.queue.take(Self.batch)
        while !next.isEmpty {
            let left = end - ContinuousClock.now
            if left > .zero { _ = await send(next, attempts: 1, deadline: left) } else { tally.lost(next.spanCount) }
            next = recorder.queue.take(Self.batch)
        }
    }

    /// - Returns: true if the outcome of the batch is known and counted; false if the task was cancelled before.
    private func send(_ batch: SpanQueue.Batch, attempts: Int, deadline: Duration) async -> Bool {
        let body = encoder.encode(batch.requests, batch.spans)
        for attempt in 1...attempts {
            let outcome = await collector.post(body, deadline: deadline)
            if Task.isCancelled, attempts > 1, outcome != .taken(rejected: 0) { return false }
            switch outcome {
            case .taken(let claimed):
                let rejected = min(claimed, batch.spanCount)
                tally.exported(batch.spanCount - rejected)
                tally.lost(rejected)
                if isFailing.exchange(false, ordering: .relaxed) { logger.notice("the collector accepts spans again") }
                return true
            case .refused(let reason):
                return lost(batch, reason)
            case .later(let reason, let wait):
                if attempt == attempts { return lost(batch, reason) }
                try? await Task.sleep(for: wait ?? .seconds(1 << (attempt - 1)))
            }
        }
        return true
    }

    private func lost(_ batch: SpanQueue.Batch, _ reason: String) -> Bool {
        tally.lost(batch.spanCount)
        // Logged once per outage, not for each delivery.
        if !isFailing.exchange(true, ordering: .relaxed) {
            logger.warning(
                "spans are lost: the collector does not accept them",
                metadata: ["endpoint": "\(settings.endpoint)", "reason": "\(reason)"])
        }
        return true
    }
}
