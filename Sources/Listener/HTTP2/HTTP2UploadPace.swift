internal import NIOCore

/// How fast a stream's client sends its body, and until when more of it must come.
///
/// Its stream shares `uploads` with the connection's other streams.
struct HTTP2UploadPace {
    private let patience: TimeAmount
    private let measures: Bool
    /// For what is to come from the client.
    private var latest = NIODeadline.distantFuture
    /// Whether it is the client that is awaited, and not the service.
    var isReading = false
    /// Of the body that is coming.
    private var rate: LeastRate
    /// Whether the client is awaited among those streams that ``HTTP2Connection/uploads`` is of.
    private var isAwaited = false
    private var excuses = HTTP2Excuses()
    /// Bytes of the body that came in the present read.
    private var arrivedBytes = 0

    init(_ settings: ListenerSettings) {
        patience = settings.bodyIdleTimeout
        measures = settings.leastRate > 0
        rate = LeastRate(settings.leastRate, grace: settings.leastRateGrace)
    }

    var deadline: NIODeadline { min(latest, rate.deadline) }
    var isMeasuring: Bool { rate.isMeasuring }
    /// Whether ``measureArrived(_:at:)`` is to follow at the end of the read.
    var hasArrived: Bool { measures && arrivedBytes > 0 }

    /// A body begins to come.
    mutating func begin(_ uploads: inout SharedRate, at now: NIODeadline) {
        latest = now + patience
        rate.begin()
        if rate.isMeasuring { uploads.join() }
    }

    mutating func received(_ count: Int) {
        isReading = false
        arrivedBytes += count
    }

    /// Part of the body has come. Of streams that got something in the same read, each is awaited again before the next
    /// one's part counts.
    mutating func measureArrived(_ uploads: inout SharedRate, at now: NIODeadline) {
        defer { arrivedBytes = 0 }
        guard hasArrived else { return }
        excuses.forget()
        uploads.moved(arrivedBytes, at: now)
        rate.received(arrivedBytes, at: now)
        stopWaiting(&uploads, at: now)
    }

    /// More of the body must come.
    mutating func expectMore(at now: NIODeadline) { latest = now + patience }

    /// More of the body may come, or none.
    mutating func expectNothing() { latest = .distantFuture }

    mutating func wait(_ uploads: inout SharedRate, at now: NIODeadline) {
        rate.wait(at: now)
        if !isAwaited { uploads.wait(at: now) }
        isAwaited = true
    }

    private mutating func stopWaiting(_ uploads: inout SharedRate, at now: NIODeadline) {
        if isAwaited { uploads.stopWaiting(at: now) }
        isAwaited = false
    }

    /// The rate is of no interest any more.
    mutating func stopMeasuring(_ uploads: inout SharedRate, at now: NIODeadline) {
        measureArrived(&uploads, at: now)
        rate.end()
        stopWaiting(&uploads, at: now)
        uploads.leave()
    }

    /// The deadline has passed.
    ///
    /// - Returns: the client's fault; nil: it has more time.
    mutating func fault(beside uploads: SharedRate, at now: NIODeadline) -> ListenerFault? {
        if rate.deadline <= now {
            guard uploads.isMet(at: now) else { return .requestTooSlow }
            rate.wait(until: uploads.deadline)
        } else {
            // It is the service that is slow, and the client's time begins when it is read from again; or the client's
            // line is busy with other streams.
            guard !isReading || excuses.excuse(uploads, since: now - patience, at: now) else { return .requestTimeout }
            latest = now + patience
        }
        return nil
    }
}
