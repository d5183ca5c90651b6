import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1

@Suite("A token that the requests of a connection repeat")
struct RepeatedFieldTests {
    static let token = "Bearer " + String(repeating: "abcdefghij", count: 100)

    static func head(_ lines: String...) -> String {
        "GET /x HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// What heads that follow one another on a connection are read as; nil for the one that ends it.
    static func connection(_ heads: [String]) -> [HTTPRequest?] {
        var parser = RequestHeadParser(limits: HeadLimits(), scheme: "http")
        var requests: [HTTPRequest?] = []
        for head in heads {
            var buffer = ByteBuffer(string: head)
            guard let request = try? parser.next(from: &buffer)?.request else { return requests + [nil] }
            requests.append(request)
        }
        return requests
    }

    /// Whatever came before, a head is read as on a connection of its own.
    @Test(
        "A head is read as if it were the first",
        arguments: [
            "Authorization: \(token)", "authorization:\(token) ", "Authorization: \(token)x",
            "Authorization: \(token.dropLast())", "Authorization: \(token.dropLast())J",
            "Authorization: Dearer\(token.dropFirst(6))", "Authorization: \(token.dropLast())\u{1}",
            "Authorization: \(token.dropLast(17))\u{7F}\(token.suffix(16))", "Authorization: \(token)\u{0}",
            "Authorization:", "X-Authorization: \(token)", "Authorization : \(token)", "Authorization: \(token)\n",
            "Authorization: \(token)\r\nAuthorization: \(token)", "Authorization: \(token)\r\nAuthorization: x",
            "Authorization: \(String(repeating: "y", count: 5000))",
        ])
    func asTheFirst(lines: String) {
        let before = Self.head("Authorization: \(Self.token)")
        let alone = Self.connection([Self.head(lines)])
        let after = Self.connection([before, before, Self.head(lines), before])
        #expect(after.count >= 3 && after[0] == after[1])
        #expect(after[2] == alone[0])
        #expect(after.count == (alone[0] == nil ? 3 : 4))
        if alone[0] != nil { #expect(after[3] == after[0]) }
    }

    @Test("What is the same is not copied again; what is long is not kept")
    func kept() throws {
        func address(_ request: HTTPRequest?) throws -> Int {
            let field = try #require(request?.headerFields.first { $0.name == .authorization })
            return field.withUnsafeBytesOfValue { Int(bitPattern: $0.baseAddress) }
        }
        let short = Self.connection(Array(repeating: Self.head("Authorization: \(Self.token)"), count: 2))
        #expect(try address(short[0]) == address(short[1]))
        let long = Self.head("Authorization: \(String(repeating: "y", count: 4097))")
        let apart = Self.connection([long, long])
        #expect(try address(apart[0]) != address(apart[1]))
    }
}
