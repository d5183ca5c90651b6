internal import Encoding
internal import HTTPClient

/// How far this machine's clock is from that of somebody who has answered: `Date`, and `Age` where a cache has kept the
/// answer (RFC 9110 §6.6.1, RFC 9111 §5.1).
struct ClockDifference: CustomStringConvertible {
    /// How many seconds this clock is ahead; nil where the answer has no time.
    private let ahead: Int64?

    /// - Parameter now: seconds since 1970.
    init(_ response: FetchResponse, now: Int64) {
        let age = response.header("age").flatMap { Int64($0) } ?? 0
        // No cache keeps an answer for longer than a year, and none that is said to be older is believed.
        let isCredible = (0...31_536_000).contains(age)
        ahead = isCredible ? response.header("date").flatMap(HTTPDate.seconds).map { now - $0 - age } : nil
    }

    /// Whether the difference is at most this. An unknown difference counts as none.
    func isWithin(_ seconds: Int64) -> Bool { ahead.map { abs($0) <= seconds } ?? true }

    var description: String {
        guard let ahead else { return "it reports no time" }
        return "this machine's clock is \(abs(ahead)) s \(ahead < 0 ? "behind" : "ahead of") its clock"
    }
}
