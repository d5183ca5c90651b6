/// A second of the proleptic Gregorian calendar, in UTC.
///
/// Days are counted in eras of 400 years that begin on 1 March, so that a leap day ends its year (Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days` and `days_from_civil`). No memory is allocated.
package struct CivilTime: Equatable, Sendable {
    package var year: Int64
    /// 1 to 12.
    package var month: Int64
    /// 1 to 31.
    package var day: Int64
    package var hour: Int64
    package var minute: Int64
    /// 60 in a leap second.
    package var second: Int64

    package init(
        year: Int64, month: Int64, day: Int64, hour: Int64 = 0, minute: Int64 = 0, second: Int64 = 0
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// - Parameter seconds: seconds since 1970, negative before.
    package init(secondsSince1970 seconds: Int64) {
        let (days, secondOfDay) = seconds.quotientAndRemainder(flooringBy: 86_400)
        let (era, dayOfEra) = (days + Self.daysTo1970).quotientAndRemainder(flooringBy: Self.daysOfEra)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        (hour, minute, second) = (secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60)
    }

    /// The seconds since 1970; a day or second out of range continues into the next month or minute.
    package var secondsSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainder(flooringBy: 400)
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * Self.daysOfEra + dayOfEra - Self.daysTo1970) * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// 0 for Sunday to 6 for Saturday.
    package var weekday: Int64 {
        // 1970-01-01 was a Thursday.
        let (days, _) = secondsSince1970.quotientAndRemainder(flooringBy: 86_400)
        return (days + 4).quotientAndRemainder(flooringBy: 7).1
    }

    private static let daysOfEra: Int64 = 146_097
    /// From 1 March of the year 0.
    private static let daysTo1970: Int64 = 719_468
}

extension Int64 {
    /// Division that rounds down, so that the remainder is never negative.
    package func quotientAndRemainder(flooringBy divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
