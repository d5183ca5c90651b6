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
        ahead = isCredible ? response.header("date").flatMap(Self.seconds).map { now - $0 - age } : nil
    }

    /// Whether the difference is at most this. An unknown difference counts as none.
    func isWithin(_ seconds: Int64) -> Bool { ahead.map { abs($0) <= seconds } ?? true }

    var description: String {
        guard let ahead else { return "it reports no time" }
        return "this machine's clock is \(abs(ahead)) s \(ahead < 0 ? "behind" : "ahead of") its clock"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The seconds since 1970 of an IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7); nil for
    /// anything else.
    static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[5] == "GMT", let day = number(parts[1], 1...31),
            let month = months.firstIndex(of: String(parts[2])), let year = number(parts[3], 1970...9999)
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = number(time[0], 0...23), let minute = number(time[1], 0...59),
            let second = number(time[2], 0...60)
        else { return nil }
        return CivilTime(
            year: year, month: Int64(month) + 1, day: day, hour: hour, minute: minute, second: second
        ).secondsSince1970
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text).flatMap { range.contains($0) ? $0 : nil }
    }
}
