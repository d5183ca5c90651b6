import Foundation
import GatehouseClient
import Testing

@Suite("JSON values")
struct JSONValueTests {
    @Test(
        "A number is encoded as it was decoded",
        arguments: [
            "0", "-1", "1.5", "9007199254740991", "9007199254740993", "-9007199254740993", "1234567890123456789",
            "9223372036854775807", "-9223372036854775808",
        ])
    func numbers(_ text: String) throws {
        let object = Data("{\"id\":\(text)}".utf8)
        let value = try JSONDecoder().decode(JSONValue.self, from: object)
        #expect(String(decoding: try JSONEncoder().encode(value), as: UTF8.self) == "{\"id\":\(text)}")
    }
}
