internal import NIOCore

/// The minimum rate at which a client must send a head or body it has begun, or take a response.
///
/// The client has a credit of time. It begins with the whole grace; each byte adds the time that it takes at the
/// minimum rate, and waiting uses it up. The credit never exceeds the grace, so a fast beginning does not pay for a
/// slow end. Only the time in which the gateway was ready to read counts as waiting: a client held back by a backend or
/// flow control loses nothing.
struct MinimumRate {
    private let nanosecondsForByte: Int64
    private let grace: TimeAmount
    /// The time at which the credit is used up; distant future while the gateway does not wait.
    private(set) var deadline = NIODeadline.distantFuture
    /// The remaining credit while the gateway does not wait; nil if nothing is measured.
    private var credit: TimeAmount?

    /// - Parameters:
    ///   - rate: bytes per second; 0: no minimum.
    ///   - grace: the initial and maximum credit.
    init(_ rate: Int, grace: TimeAmount) {
        nanosecondsForByte = rate > 0 ? max(1, 1_000_000_000 / Int64(rate)) : 0
        self.grace = grace
    }

    var isMeasuring: Bool { credit != nil }

    /// Begins a measurement, without waiting yet.
    mutating func begin() {
        guard nanosecondsForByte > 0 else { return }
        (credit, deadline) = (grace, .distantFuture)
    }

    /// Ends the measurement.
    mutating func end() {
        (credit, deadline) = (nil, .distantFuture)
    }

    /// Begins to wait: the gateway is ready to read.
    mutating func wait(at now: NIODeadline) {
        guard let credit, deadline == .distantFuture else { return }
        deadline = now + credit
    }

    /// Credits received bytes, and stops waiting until ``wait(at:)``.
    ///
    /// - Parameter shares: the multiple of the minimum rate that applies.
    mutating func received(_ count: Int, at now: NIODeadline, shares: Int = 1) {
        guard let credit else { return }
        // The credit may have run out unnoticed: the received bytes first pay for the time since then.
        let left = deadline == .distantFuture ? credit : max(.nanoseconds(-grace.nanoseconds), deadline - now)
        let (product, isTooMuch) = Int64(count).multipliedReportingOverflow(by: nanosecondsForByte)
        let earned = isTooMuch ? Int64.max : product / Int64(shares)
        deadline = .distantFuture
        self.credit = earned >= grace.nanoseconds ? grace : min(grace, left + .nanoseconds(earned))
    }

    /// Extends the deadline to at least `time`, if the gateway waits.
    mutating func wait(until time: NIODeadline) {
        guard credit != nil, deadline != .distantFuture else { return }
        deadline = max(deadline, time)
    }
}
