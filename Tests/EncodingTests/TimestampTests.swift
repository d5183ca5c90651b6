import Encoding
import Testing

@Suite("Dates and times as text")
struct TimestampTests {
    static let times: [(Int64, String, String)] = [
        (0, "1970-01-01T00:00:00Z", "19700101T000000Z"), (-1, "1969-12-31T23:59:59Z", "19691231T235959Z"),
        (951_782_400, "2000-02-29T00:00:00Z", "20000229T000000Z"),
        (1_709_251_199, "2024-02-29T23:59:59Z", "20240229T235959Z"),
        (1_440_938_160, "2015-08-30T12:36:00Z", "20150830T123600Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z", "99991231T235959Z"),
        (-62_167_219_200, "0000-01-01T00:00:00Z", "00000101T000000Z"),
    ]

    @Test("Both forms go both ways", arguments: times)
    func bothWays(seconds: Int64, text: String, basic: String) {
        #expect(Timestamp.text(seconds) == text && Timestamp.seconds(text) == seconds)
        #expect(Timestamp.basicText(seconds) == basic && Timestamp.basicSeconds(basic) == seconds)
        #expect(Timestamp.seconds(basic) == nil && Timestamp.basicSeconds(text) == nil)
    }

    @Test(
        "Fractions are dropped and offsets taken away (the examples of RFC 3339, 5.8)",
        arguments: [
            ("1985-04-12T23:20:50.52Z", 482_196_050), ("1996-12-19T16:39:57-08:00", 851_042_397),
            ("1990-12-31T23:59:60Z", 662_688_000), ("1990-12-31T15:59:60-08:00", 662_688_000),
            ("1937-01-01T12:00:27.87+00:20", -1_041_337_173), ("1985-04-12t23:20:50z", 482_196_050),
        ] as [(String, Int64)])
    func read(text: String, seconds: Int64) {
        #expect(Timestamp.seconds(text) == seconds)
    }

    @Test(
        "Anything else is no time",
        arguments: [
            "", "1985-04-12", "1985-04-12T23:20:50", "1985-04-12T23:20Z", "1985-04-12 23:20:50Z", "1985-4-12T23:20:50Z",
            "1985-02-29T23:20:50Z", "1985-13-12T23:20:50Z", "1985-00-12T23:20:50Z", "1985-04-31T23:20:50Z",
            "1985-04-12T24:20:50Z", "1985-04-12T23:60:50Z", "1985-04-12T23:20:61Z", "1985-04-12T23:20:50.Z",
            "1985-04-12T23:20:50+0800", "1985-04-12T23:20:50+24:00", "+985-04-12T23:20:50Z", "1985-04-12T23:20:50ZZ",
            "1985-04-12T23:20:-1Z", "１985-04-12T23:20:50Z",
        ])
    func refused(text: String) {
        #expect(Timestamp.seconds(text) == nil)
        #expect(Timestamp.basicSeconds(text.filter { !"-:".contains($0) } + "x") == nil)
    }

    @Test("Every day of 800 years follows the one before, and is found again")
    func calendar() {
        var expected = CivilTime(year: 1600, month: 1, day: 1)
        var weekday: Int64 = 6
        for day in Int64(-135_140)..<Int64(-135_140 + 2 * 146_097) {
            let date = CivilTime(secondsSince1970: day * 86_400)
            guard date == expected, date.secondsSince1970 == day * 86_400, date.weekday == weekday else {
                Issue.record("day \(day) is \(date), not \(expected)")
                return
            }
            expected = next(expected)
            weekday = (weekday + 1) % 7
        }
    }

    private func next(_ date: CivilTime) -> CivilTime {
        let isLeap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        if date.day < lengths[Int(date.month) - 1] {
            return CivilTime(year: date.year, month: date.month, day: date.day + 1)
        }
        return date.month < 12
            ? CivilTime(year: date.year, month: date.month + 1, day: 1)
            : CivilTime(year: date.year + 1, month: 1, day: 1)
    }

    @Test("The second of a day is its hour, minute and second", arguments: [-86_400, 0, 86_400 * 365] as [Int64])
    func secondsOfDay(day: Int64) {
        for second in stride(from: Int64(0), to: 86_400, by: 7) {
            let time = CivilTime(secondsSince1970: day + second)
            #expect(time.hour * 3600 + time.minute * 60 + time.second == second)
            #expect(time.secondsSince1970 == day + second)
        }
    }
}
