import Testing

@testable import Diagnostics
@testable import HTTPClient

@Suite("How far the clock is from that of a server")
struct ClockDifferenceTests {
    @Test(
        "A date of HTTP is read as the second that it is, and nothing else is one",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
            ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("Sun, +6 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:49 GMT", nil), ("784111777", nil), ("", nil),
        ] as [(String, Int64?)])
    func dates(text: String, expected: Int64?) {
        #expect(ClockDifference.seconds(text) == expected)
    }

    @Test(
        "What the clock may differ by, and what an answer from a cache says",
        arguments: [
            (784_111_777, nil, true), (784_111_837, nil, true), (784_111_838, nil, false), (784_111_716, nil, false),
            (784_115_377, "3600", true), (784_111_777, "3600", false), (784_111_777, "99999999999", true),
        ] as [(Int64, String?, Bool)])
    func differences(now: Int64, age: String?, isWithin: Bool) {
        var headers = [(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")]
        if let age { headers.append((name: "age", value: age)) }
        let response = FetchResponse(status: 200, headers: headers)
        #expect(ClockDifference(response, now: now).isWithin(60) == isWithin)
    }

    @Test("It is told in words, and a server without a clock has none to differ from")
    func words() {
        let response = FetchResponse(status: 200, headers: [(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")])
        #expect("\(ClockDifference(response, now: 784_111_677))" == "this machine's clock is 100 s behind its clock")
        #expect("\(ClockDifference(response, now: 784_111_877))" == "this machine's clock is 100 s ahead of its clock")
        #expect(ClockDifference(FetchResponse(status: 200), now: 5).isWithin(0))
    }
}
