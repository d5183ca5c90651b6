internal import Encoding

/// A point in which a token is not what the settings of its issuer demand.
package struct TokenDifference: Sendable, Equatable, CustomStringConvertible {
    /// The claim, or the parameter of the header.
    package let name: String
    /// The values that would do; of a time, a description.
    package let expected: [String]
    /// Nil where the token has none. Nobody has verified it, so characters that no terminal should get are replaced.
    package let got: String?
    /// How far a time is from the present, in seconds; nil for what is no time.
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

    /// A time that is over, and must not be.
    static func tooEarly(_ name: String, _ time: Int64, skew: Int64, now: Int64) -> TokenDifference {
        TokenDifference(
            time: name, expected: "after \(text(time: now.saturating(minus: skew)))", got: time,
            secondsOff: now.saturating(minus: time))
    }

    /// A time that has not come yet, and must have.
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

    /// Seconds where no calendar has the time.
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
