internal import NIOCore

/// The minimum rate and idle timeout of a stream's request body.
///
/// `uploads` is shared with the connection's other streams.
struct HTTP2UploadPace {
    private let patience: TimeAmount
    private let measures: Bool
    /// The deadline for the client's next bytes.
    private var latest = NIODeadline.distantFuture
    /// Whether the gateway waits for the client, and not for the service.
    var isReading = false
    /// The minimum rate of the request's body.
    private var rate: MinimumRate
    /// Whether this stream is counted as waiting in ``HTTP2Connection/uploads``.
    private var isAwaited = false
    private var excuses = HTTP2Excuses()
    /// The bytes of the body received in the current read.
    private var arrivedBytes = 0

    init(_ settings: ListenerSettings) {
        patience = settings.bodyIdleTimeout
        measures = settings.minimumRate > 0
        rate = MinimumRate(settings.minimumRate, grace: settings.minimumRateGrace)
    }

    var deadline: NIODeadline { min(latest, rate.deadline) }
    var isMeasuring: Bool { rate.isMeasuring }
    /// Whether ``measureArrived(_:at:)`` must follow at the end of the read.
    var hasArrived: Bool { measures && arrivedBytes > 0 }

    /// Begins to measure a body.
    mutating func begin(_ uploads: inout ConnectionMinimumRate, at now: NIODeadline) {
        latest = now + patience
        rate.begin()
        if rate.isMeasuring { uploads.join() }
    }

    mutating func received(_ count: Int) {
        isReading = false
        arrivedBytes += count
    }

    /// Measures the bytes of this read. If several streams received bytes in one read, each begins to wait again before
    /// the next one is measured.
    mutating func measureArrived(_ uploads: inout ConnectionMinimumRate, at now: NIODeadline) {
        defer { arrivedBytes = 0 }
        guard hasArrived else { return }
        excuses.forget()
        uploads.moved(arrivedBytes, at: now)
        rate.received(arrivedBytes, at: now)
        stopWaiting(&uploads, at: now)
    }

    /// Requires more of the body before the idle timeout.
    mutating func expectMore(at now: NIODeadline) { latest = now + patience }

    /// Removes the idle timeout: no more of the body is required.
    mutating func expectNothing() { latest = .distantFuture }

    mutating func wait(_ uploads: inout ConnectionMinimumRate, at now: NIODeadline) {
        rate.wait(at: now)
        if !isAwaited { uploads.wait(at: now) }
        isAwaited = true
    }

    private mutating func stopWaiting(_ uploads: inout ConnectionMinimumRate, at now: NIODeadline) {
        if isAwaited { uploads.stopWaiting(at: now) }
        isAwaited = false
    }

    /// Stops measuring the rate.
    mutating func stopMeasuring(_ uploads: inout ConnectionMinimumRate, at now: NIODeadline) {
        measureArrived(&uploads, at: now)
        rate.end()
        stopWaiting(&uploads, at: now)
        uploads.leave()
    }

    /// Decides what happens after the deadline.
    ///
    /// - Returns: the client's fault; nil if it gets more time.
    mutating func fault(beside uploads: ConnectionMinimumRate, at now: NIODeadline) -> ListenerFault? {
        if rate.deadline <= now {
            guard uploads.isMet(at: now) else { return .requestTooSlow }
            rate.wait(until: uploads.deadline)
        } else {
            // The service is slow, and the client's time begins when reading resumes; or the client's bandwidth is used
            // by other streams.
            guard !isReading || excuses.excuse(uploads, since: now - patience, at: now) else { return .requestTimeout }
            latest = now + patience
        }
        return nil
    }
}
