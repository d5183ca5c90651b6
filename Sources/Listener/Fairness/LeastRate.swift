internal import NIOCore

/// Whether a client sends what it has begun as fast as it must.
///
/// The client has credit: at first the whole grace, each byte adds what it may take at the least rate, and waiting for
/// more uses it up. There is never more credit than the grace, so that a fast beginning does not pay for a slow end.
/// Only the time in which the gateway was ready to read is waiting: a client that a backend or flow control holds back
/// loses nothing.
struct LeastRate {
    private let nanosecondsForByte: Int64
    private let grace: TimeAmount
    /// When the credit is used up; far away while nothing is waited for.
    private(set) var deadline = NIODeadline.distantFuture
    /// The credit that is left while nothing is waited for; nil where nothing is measured.
    private var credit: TimeAmount?

    /// - Parameters:
    ///   - rate: bytes a second; 0 measures nothing.
    ///   - grace: the credit at the beginning, and at most.
    init(_ rate: Int, grace: TimeAmount) {
        nanosecondsForByte = rate > 0 ? max(1, 1_000_000_000 / Int64(rate)) : 0
        self.grace = grace
    }

    var isMeasuring: Bool { credit != nil }

    /// Something begins, and is not waited for yet.
    mutating func begin() {
        guard nanosecondsForByte > 0 else { return }
        (credit, deadline) = (grace, .distantFuture)
    }

    /// It has come, or will not be measured any more.
    mutating func end() {
        (credit, deadline) = (nil, .distantFuture)
    }

    /// The gateway is ready to read.
    mutating func wait(at now: NIODeadline) {
        guard let credit, deadline == .distantFuture else { return }
        deadline = now + credit
    }

    /// So many bytes have come. Until ``wait(at:)`` no more are waited for.
    ///
    /// - Parameter shares: how many times the rate they must come with.
    mutating func received(_ count: Int, at now: NIODeadline, shares: Int = 1) {
        guard let credit else { return }
        // Nobody may have looked since the credit was used up: what came meanwhile pays for that time first.
        let left = deadline == .distantFuture ? credit : max(.nanoseconds(-grace.nanoseconds), deadline - now)
        let (product, isTooMuch) = Int64(count).multipliedReportingOverflow(by: nanosecondsForByte)
        let earned = isTooMuch ? Int64.max : product / Int64(shares)
        deadline = .distantFuture
        self.credit = earned >= grace.nanoseconds ? grace : min(grace, left + .nanoseconds(earned))
    }

    /// It is waited for until then at least.
    mutating func wait(until time: NIODeadline) {
        guard credit != nil, deadline != .distantFuture else { return }
        deadline = max(deadline, time)
    }
}
