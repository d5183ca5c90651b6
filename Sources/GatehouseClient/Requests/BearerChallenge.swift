import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension HTTPURLResponse {
    /// Whether the response refuses the bearer token itself, so that another one may succeed: 401 with a `Bearer`
    /// challenge whose `error` is `invalid_token` (RFC 6750, section 3.1).
    var refusesToken: Bool {
        guard statusCode == 401, let challenge = value(forHTTPHeaderField: "WWW-Authenticate") else { return false }
        guard challenge.range(of: "bearer", options: .caseInsensitive) != nil else { return false }
        let pattern = #"(^|[\s,])error\s*=\s*("invalid_token"|invalid_token([\s,]|$))"#
        return challenge.range(of: pattern, options: [.regularExpression, .caseInsensitive]) != nil
    }

    /// Seconds of `Retry-After` (RFC 9110, section 10.2.3); nil if the response has none. A date counts from the
    /// response's own `Date`.
    var retryAfter: TimeInterval? {
        guard let text = value(forHTTPHeaderField: "Retry-After")?.trimmingCharacters(in: .whitespaces) else {
            return nil
        }
        if let seconds = UInt32(text) { return TimeInterval(seconds) }
        guard let until = HTTPDate.parse(text), let now = date else { return nil }
        return max(0, until.timeIntervalSince(now))
    }

    /// The gateway's clock as it sent the response.
    var date: Date? { value(forHTTPHeaderField: "Date").flatMap(HTTPDate.parse) }
}

enum HTTPDate {
    private static let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(separator: " ")

    /// - Returns: nil if the text is no IMF-fixdate (RFC 9110, section 5.6.7), such as
    ///   `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func parse(_ text: String) -> Date? {
        let parts = text.split { $0 == " " || $0 == ":" }
        guard parts.count == 8, parts[7] == "GMT", let month = months.firstIndex(of: parts[2]) else { return nil }
        let numbers = [3, 1, 4, 5, 6].compactMap { Int(parts[$0]) }
        guard numbers.count == 5, numbers.allSatisfy({ (0...9999).contains($0) }) else { return nil }
        return DateComponents(
            calendar: Calendar(identifier: .gregorian), timeZone: TimeZone(secondsFromGMT: 0), year: numbers[0],
            month: month + 1, day: numbers[1], hour: numbers[2], minute: numbers[3], second: numbers[4]
        ).date
    }
}
