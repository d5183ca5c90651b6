import Testing

@testable import Diagnostics
@testable import HTTPClient

@Suite("How far the clock is from that of a server")
struct ClockDifferenceTests {
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
