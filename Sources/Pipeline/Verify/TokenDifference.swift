internal import Encoding

/// A difference between a token and the settings of its issuer.
package struct TokenDifference: Sendable, Equatable, CustomStringConvertible {
    /// The claim, or the parameter of the header.
    package let name: String
    /// The values that would be accepted; for a time, a description.
    package let expected: [String]
    /// Nil if the token has none. The value is unverified, so characters that are unsafe for a terminal are replaced.
    package let got: String?
    /// The distance of a time from the present, in seconds; nil if the value is not a time.
    package let secondsOff: Int64?

    private static let maximumLength = 200

    init(_ name: String, expected: [String], got: JSON?) {
        self.name = name
        self.expected = expected
        self.got = got.map(Self.shown)
        secondsOff = nil
    }

    private init(time name: String, expected: String, got: Int64, secondsOff: Int64) {
        self.name = name
        self.expected = [expected]
        self.got = Self.text(time: got)
        self.secondsOff = secondsOff
    }

    /// A time that has passed, but must not have.
    static func tooEarly(_ name: String, _ time: Int64, skew: Int64, now: Int64) -> TokenDifference {
        TokenDifference(
            time: name, expected: "after \(text(time: now.saturating(minus: skew)))", got: time,
            secondsOff: now.saturating(minus: time))
    }

    /// A time that has not come, but must have.
    static func tooLate(_ name: String, _ time: Int64, skew: Int64, now: Int64) -> TokenDifference {
        TokenDifference(
            time: name, expected: "until \(text(time: now.saturating(minus: -skew)))", got: time,
            secondsOff: time.saturating(minus: now))
    }

    /// `iss: expected "https://a" or "https://b", got "https://c"`
    package var description: String {
        guard let secondsOff else {
            let values = expected.map { "\"\($0)\"" }.joined(separator: " or ")
            return "\(name): expected \(values), got \(got.map { "\"\($0)\"" } ?? "none")"
        }
        return "\(name): expected \(expected.joined()), got \(got ?? "none"), which is \(secondsOff) s off"
    }

    private static func shown(_ value: JSON) -> String {
        let text = value.stringValue ?? String(decoding: value.encoded(), as: UTF8.self)
        let scalars = text.unicodeScalars
        guard scalars.count > maximumLength else { return text.visible }
        return String(String.UnicodeScalarView(scalars.prefix(maximumLength))).visible + "…"
    }

    /// The time as text; in seconds if no calendar has it.
    private static func text(time: Int64) -> String {
        (-62_167_219_200...253_402_300_799).contains(time) ? Timestamp.text(time) : "\(time)"
    }
}

extension Int64 {
    fileprivate func saturating(minus other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }
}
