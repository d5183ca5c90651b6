internal import Encoding

/// The time in the format of SRP's proof: `EEE MMM d HH:mm:ss 'UTC' yyyy`, English, the day without a leading zero.
package enum SRPTimestamp {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Parameter seconds: Seconds since 1970, not negative.
    package static func text(at seconds: Int64) -> String {
        let date = CivilTime(secondsSince1970: seconds)
        let time = [date.hour, date.minute, date.second].map(twoDigits).joined(separator: ":")
        let (weekday, month) = (weekdays[Int(date.weekday)], months[Int(date.month) - 1])
        return "\(weekday) \(month) \(date.day) \(time) UTC \(date.year)"
    }

    /// Whether `text` has this format, for any time.
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
}
