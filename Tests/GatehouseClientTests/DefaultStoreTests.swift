import Foundation
import Testing

@testable import GatehouseClient

@Suite("The store that a client has by default")
struct DefaultStoreTests {
    private func name(_ url: String) throws -> String {
        Gatehouse.storeName(try #require(URL(string: url)), of: "com.example.app")
    }

    @Test(
        "Another origin has another store: no gateway gets another one's tokens",
        arguments: [
            "https://b.example", "http://a.example", "https://a.example:8443", "https://a.example.com",
            "https://a.example@b.example",
        ])
    func otherOrigin(_ url: String) throws { #expect(try name(url) != name("https://a.example")) }

    @Test(
        "One origin has one store, however its URL is written",
        arguments: ["https://a.example/", "https://A.example:443", "https://a.example/api/v2"])
    func sameOrigin(_ url: String) throws { #expect(try name(url) == "com.example.app@https-a.example-443") }

    @Test("A host is one segment of a file's path")
    func segment() throws { #expect(try !name("https://a%2F..%2Fb.example").contains("/")) }
}
