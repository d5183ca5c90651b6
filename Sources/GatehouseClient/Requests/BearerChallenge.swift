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
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Returns: nil if the text is no IMF-fixdate (RFC 9110, section 5.6.7), such as
    ///   `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func parse(_ text: String) -> Date? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let clock = parts[4].split(separator: ":")
        let numbers = ([parts[1], parts[3]] + clock).compactMap { Int($0) }
        guard clock.count == 3, numbers.count == 5, (1...31).contains(numbers[0]), (1970...9999).contains(numbers[1])
        else { return nil }
        // Days since 1970 of the civil date, in years that begin with March, so that the leap day is the last.
        let year = month < 2 ? numbers[1] - 1 : numbers[1]
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + numbers[0] - 1
        let days = 365 * year + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
        let seconds = numbers[2] * 3600 + numbers[3] * 60 + numbers[4]
        return Date(timeIntervalSince1970: TimeInterval(days * 86_400 + seconds))
    }
}
