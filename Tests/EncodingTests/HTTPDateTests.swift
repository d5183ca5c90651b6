import Testing

@testable import Encoding

@Suite("Times in HTTP's fields")
struct HTTPDateTests {
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
        #expect(HTTPDate.seconds(text) == expected)
    }

    @Test(
        "A second is written as the date that it is, and read again",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Sat, 31 Dec 2033 23:59:59 GMT", 2_019_686_399),
        ] as [(String, Int64)])
    func texts(text: String, seconds: Int64) {
        #expect(HTTPDate.text(seconds) == text)
        #expect(HTTPDate.seconds(text) == seconds)
    }
}
