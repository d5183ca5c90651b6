/// The time as SRP's proof has it: `EEE MMM d HH:mm:ss 'UTC' yyyy`, English, the day without a zero in front.
package enum SRPTimestamp {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Parameter seconds: Seconds since 1970, not negative.
    package static func text(at seconds: Int64) -> String {
        let days = seconds / 86_400
        let date = civil(days)
        let time = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60].map(twoDigits).joined(separator: ":")
        // 1970-01-01 was a Thursday.
        let weekday = weekdays[Int((days + 4) % 7)]
        return "\(weekday) \(months[Int(date.month) - 1]) \(date.day) \(time) UTC \(date.year)"
    }

    /// Whether `text` has this form; the time itself may be any.
    package static func isWellFormed(_ text: String) -> Bool {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, weekdays.contains(String(parts[0])), months.contains(String(parts[1])) else {
            return false
        }
        let time = parts[3].split(separator: ":", omittingEmptySubsequences: false)
        return number(parts[2], in: 1...31) && parts[2].first != "0" && time.count == 3
            && time.allSatisfy { $0.utf8.count == 2 } && number(time[0], in: 0...23) && number(time[1], in: 0...59)
            && number(time[2], in: 0...60) && parts[4] == "UTC" && number(parts[5], in: 1970...9999)
    }

    private static func number(_ text: Substring, in range: ClosedRange<Int>) -> Bool {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text) else { return false }
        return range.contains(value)
    }

    private static func twoDigits(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

    /// The Gregorian date of a count of days since 1970-01-01, with years that begin in March so that the leap day is
    /// their last.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
