import Foundation
import Testing

@testable import GatehouseClient

@Suite("Dates in headers")
struct HTTPDateTests {
    @Test(
        "An IMF-fixdate is read",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Tue, 24 Nov 2026 20:00:00 GMT", 1_795_550_400),
        ])
    func read(_ text: String, _ seconds: TimeInterval) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: seconds))
    }

    @Test(
        "Other text is none",
        arguments: [
            "", "120", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 99999999999 08:49:37 GMT",
        ])
    func none(_ text: String) { #expect(HTTPDate.parse(text) == nil) }
}
