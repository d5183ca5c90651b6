internal import Encoding
internal import HTTPClient

/// The difference between this machine's clock and a server's, from the response fields `Date` and, if a cache stored
/// the response, `Age` (RFC 9110 §6.6.1, RFC 9111 §5.1).
struct ClockDifference: CustomStringConvertible {
    /// The seconds by which this clock is ahead; nil if the response has no usable time.
    private let ahead: Int64?

    /// - Parameter now: seconds since 1970.
    init(_ response: FetchResponse, now: Int64) {
        let age = response.header("age").flatMap { Int64($0) } ?? 0
        // Caches store a response for at most a year. A greater age is not believed.
        let isCredible = (0...31_536_000).contains(age)
        ahead = isCredible ? response.header("date").flatMap(HTTPDate.seconds).map { now - $0 - age } : nil
    }

    /// Whether the difference is at most this many seconds. An unknown difference counts as none.
    func isWithin(_ seconds: Int64) -> Bool { ahead.map { abs($0) <= seconds } ?? true }

    var description: String {
        guard let ahead else { return "it reports no time" }
        return "this machine's clock is \(abs(ahead)) s \(ahead < 0 ? "behind" : "ahead of") its clock"
    }
}
