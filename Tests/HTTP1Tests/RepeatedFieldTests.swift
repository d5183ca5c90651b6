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

    /// The requests of heads that follow one another on a connection; nil for the one that ends it.
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

    /// Where a request's token is in memory.
    static func address(_ request: HTTPRequest?) throws -> Int {
        let field = try #require(request?.headerFields.first { $0.name == .authorization })
        return field.withUnsafeBytesOfValue { Int(bitPattern: $0.baseAddress) }
    }

    @Test("What comes a third time is not copied again; what comes once or is long is not kept")
    func kept() throws {
        let short = Self.connection(Array(repeating: Self.head("Authorization: \(Self.token)"), count: 3))
        #expect(try Self.address(short[0]) != Self.address(short[1]))
        #expect(try Self.address(short[1]) == Self.address(short[2]))
        let long = Self.head("Authorization: \(String(repeating: "y", count: 4097))")
        let apart = Self.connection([long, long, long])
        #expect(try Self.address(apart[1]) != Self.address(apart[2]))
    }

    @Test("A parser that is told to forget keeps nothing of a token")
    func forgotten() throws {
        var parser = RequestHeadParser(limits: HeadLimits(), scheme: "http")
        var requests: [HTTPRequest?] = []
        func next() throws {
            var buffer = ByteBuffer(string: Self.head("Authorization: \(Self.token)"))
            requests.append(try parser.next(from: &buffer)?.request)
        }
        try next()
        #expect(!parser.remembers)
        try next()
        #expect(parser.remembers)
        parser.forget()
        #expect(!parser.remembers)
        try next()
        #expect(!parser.remembers)
        #expect(try Self.address(requests[1]) != Self.address(requests[2]))
    }
}
