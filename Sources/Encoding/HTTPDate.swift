/// Times in the format of HTTP fields: IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter seconds: seconds since 1970, in a year of four digits.
    package static func text(_ seconds: Int64) -> String {
        let time = CivilTime(secondsSince1970: seconds)
        var text: [UInt8] = []
        text.reserveCapacity(29)
        text += days[Int(time.weekday)].utf8
        text += ", ".utf8
        text.append(time.day, digits: 2)
        text += " \(months[Int(time.month) - 1]) ".utf8
        text.append(time.year, digits: 4)
        for (separator, number) in zip(" ::".utf8, [time.hour, time.minute, time.second]) {
            text.append(separator)
            text.append(number, digits: 2)
        }
        text += " GMT".utf8
        return String(decoding: text, as: UTF8.self)
    }

    /// The seconds since 1970 of a text in this format; nil for any other format.
    package static func seconds(_ text: String) -> Int64? {
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
