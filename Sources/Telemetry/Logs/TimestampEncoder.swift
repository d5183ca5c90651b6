/// Writes times as RFC 3339 does, in UTC with milliseconds: `2026-01-31T23:59:59.123Z`.
///
/// The text of the last second is kept, since log lines of one second come together.
struct TimestampEncoder: Sendable {
    private var second: Int64?
    private var text: [UInt8] = []

    mutating func append(milliseconds: Int64, to bytes: inout [UInt8]) {
        let (second, millisecond) = milliseconds.quotientAndRemainder(flooringBy: 1000)
        if self.second != second {
            self.second = second
            text = Self.text(ofSecond: second)
        }
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "."))
        for divisor: Int64 in [100, 10, 1] {
            bytes.append(UInt8(ascii: "0") + UInt8(millisecond / divisor % 10))
        }
        bytes.append(UInt8(ascii: "Z"))
    }

    private static func text(ofSecond second: Int64) -> [UInt8] {
        let (day, secondOfDay) = second.quotientAndRemainder(flooringBy: 86_400)
        let date = CivilDate(daysSince1970: day)
        var text: [UInt8] = []
        text.append(paddedTo: 4, date.year)
        text.append(UInt8(ascii: "-"))
        text.append(paddedTo: 2, date.month)
        text.append(UInt8(ascii: "-"))
        text.append(paddedTo: 2, date.day)
        text.append(UInt8(ascii: "T"))
        text.append(paddedTo: 2, secondOfDay / 3600)
        text.append(UInt8(ascii: ":"))
        text.append(paddedTo: 2, secondOfDay / 60 % 60)
        text.append(UInt8(ascii: ":"))
        text.append(paddedTo: 2, secondOfDay % 60)
        return text
    }
}

/// A date of the proleptic Gregorian calendar.
struct CivilDate: Equatable {
    var year: Int64
    var month: Int64
    var day: Int64

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Counts in eras of 400 years that begin on 1 March, so that a leap day ends its year (Howard Hinnant,
    /// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
    init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(flooringBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}

extension Int64 {
    /// Division that rounds down, so that the remainder is never negative.
    fileprivate func quotientAndRemainder(flooringBy divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension [UInt8] {
    fileprivate mutating func append(paddedTo width: Int, _ value: Int64) {
        let digits = String(value).utf8
        append(contentsOf: repeatElement(UInt8(ascii: "0"), count: Swift.max(0, width - digits.count)))
        append(contentsOf: digits)
    }
}
