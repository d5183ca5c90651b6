/// Times in UTC as text, from and to seconds since 1970.
package enum Timestamp {
    /// `2026-01-31T23:59:59Z` (RFC 3339, 5.6).
    package static func text(_ seconds: Int64) -> String {
        var text: [UInt8] = []
        append(CivilTime(secondsSince1970: seconds), to: &text)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends `2026-01-31T23:59:59`, without a zone.
    package static func append(_ time: CivilTime, to text: inout [UInt8]) {
        text.append(time.year, digits: 4)
        text.append(UInt8(ascii: "-"))
        text.append(time.month, digits: 2)
        text.append(UInt8(ascii: "-"))
        text.append(time.day, digits: 2)
        text.append(UInt8(ascii: "T"))
        text.append(time.hour, digits: 2)
        text.append(UInt8(ascii: ":"))
        text.append(time.minute, digits: 2)
        text.append(UInt8(ascii: ":"))
        text.append(time.second, digits: 2)
    }

    /// The second of an RFC 3339 time, without its fraction; nil for anything else.
    package static func seconds(_ text: String) -> Int64? {
        var reader = TimeReader(text)
        guard let date = reader.date(separatedBy: "-"), reader.take("T") || reader.take("t"),
            let time = reader.time(of: date, separatedBy: ":"), reader.dropFraction(),
            let offset = reader.offset(), reader.isAtEnd
        else { return nil }
        return time.secondsSince1970 - offset
    }

    /// `20260131T235959Z`, the format that AWS signs.
    package static func basicText(_ seconds: Int64) -> String {
        String(decoding: text(seconds).utf8.filter { !"-:".utf8.contains($0) }, as: UTF8.self)
    }

    /// The second of a text in the format of ``basicText(_:)``; nil for anything else.
    package static func basicSeconds(_ text: String) -> Int64? {
        var reader = TimeReader(text)
        guard let date = reader.date(separatedBy: nil), reader.take("T"),
            let time = reader.time(of: date, separatedBy: nil), reader.take("Z"), reader.isAtEnd
        else { return nil }
        return time.secondsSince1970
    }
}

/// Reads the parts of a time from the front of its text.
private struct TimeReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = Array(text.utf8)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// `full-date`: a day that exists in its month.
    mutating func date(separatedBy separator: Unicode.Scalar?) -> CivilTime? {
        guard let year = number(4, 0...9999), takes(separator), let month = number(2, 1...12), takes(separator),
            let day = number(2, 1...31)
        else { return nil }
        let date = CivilTime(year: year, month: month, day: day)
        return CivilTime(secondsSince1970: date.secondsSince1970) == date ? date : nil
    }

    /// `partial-time`, without the fraction.
    mutating func time(of date: CivilTime, separatedBy separator: Unicode.Scalar?) -> CivilTime? {
        guard let hour = number(2, 0...23), takes(separator), let minute = number(2, 0...59), takes(separator),
            let second = number(2, 0...60)
        else { return nil }
        var time = date
        (time.hour, time.minute, time.second) = (hour, minute, second)
        return time
    }

    /// `time-secfrac`, if there is one; false for a point without a digit.
    mutating func dropFraction() -> Bool {
        guard take(".") else { return true }
        let digits = rest.prefix { Self.digits.contains($0) }
        rest.removeFirst(digits.count)
        return !digits.isEmpty
    }

    /// `time-offset`, in seconds.
    mutating func offset() -> Int64? {
        if take("Z") || take("z") { return 0 }
        let isAhead = take("+")
        guard isAhead || take("-"), let hours = number(2, 0...23), take(":"), let minutes = number(2, 0...59) else {
            return nil
        }
        return (hours * 3600 + minutes * 60) * (isAhead ? 1 : -1)
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private mutating func takes(_ separator: Unicode.Scalar?) -> Bool { separator.map { take($0) } ?? true }

    private mutating func number(_ count: Int, _ range: ClosedRange<Int64>) -> Int64? {
        let text = rest.prefix(count)
        guard text.count == count, text.allSatisfy(Self.digits.contains) else { return nil }
        rest.removeFirst(count)
        let value = text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return range.contains(value) ? value : nil
    }
}

extension [UInt8] {
    /// Appends a non-negative number with leading zeros.
    package mutating func append(_ number: Int64, digits width: Int) {
        let text = String(number).utf8
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: Swift.max(0, width - text.count)))
        append(contentsOf: text)
    }
}
