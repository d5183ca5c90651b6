import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1

/// Decodes `text`, given `step` bytes at a time: the body, and the text behind its end.
private func decode(_ framing: BodyFraming, _ text: String, step: Int) throws(HTTP1Fault) -> (String, String)? {
    var decoder = BodyDecoder(framing)
    var buffer = ByteBuffer()
    var body = ""
    var rest = Array(text.utf8)[...]
    repeat {
        let part = rest.prefix(min(step, rest.count))
        rest = rest.dropFirst(part.count)
        buffer.writeBytes(part)
        while let next = try decoder.next(from: &buffer) {
            guard case .data(let data) = next else {
                return (body, String(buffer: buffer) + String(decoding: rest, as: UTF8.self))
            }
            body += String(buffer: data)
        }
    } while !rest.isEmpty
    return nil
}

@Suite struct BodyDecoderTests {
    static let bodies: [(BodyFraming, String, String, String)] = [
        (.none, "GET", "", "GET"),
        (.length(5), "hello", "hello", ""),
        (.length(5), "helloGET", "hello", "GET"),
        (.chunked, "0\r\n\r\n", "", ""),
        (.chunked, "5\r\nhello\r\n0\r\n\r\nGET", "hello", "GET"),
        (.chunked, "005\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n", "hello0123456789", ""),
        (.chunked, "a;x=\"y\"\r\n0123456789\r\n0;end\r\n\r\n", "0123456789", ""),
        (.chunked, "2;a;b=c; d = \"e\\\"; \tf\" ;g\r\nhi\r\n0\r\n\r\n", "hi", ""),
        (.chunked, "2\r\nhi\r\n0\r\nX-Sum: 1\r\nY: z\r\n\r\nGET", "hi", "GET"),
    ]

    @Test("A body ends where its framing says, however its bytes are cut", arguments: bodies)
    func decodes(framing: BodyFraming, text: String, body: String, left: String) throws {
        for step in [1, 2, 3, 5, 1000] {
            let (decoded, rest) = try #require(try decode(framing, text, step: step))
            #expect(decoded == body, "step \(step)")
            #expect(rest == left, "step \(step)")
        }
    }

    static let trailerSections: [(String, [String]?)] = [
        ("2\r\nhi\r\n0\r\nX-Sum: 1\r\nY:  z \r\n\r\nGET", ["X-Sum: 1", "Y: z"]),
        ("2\r\nhi\r\n0\r\n\r\nX: y\r\n\r\n", nil),
        ("0\r\nTransfer-Encoding: chunked\r\nHost: x\r\nX: y\r\n\r\n", ["X: y"]),
    ]

    @Test("Trailers are there once the body is complete, however its bytes are cut", arguments: trailerSections)
    func trailers(text: String, expected: [String]?) throws {
        for step in [1, 2, 5, 1000] {
            var decoder = BodyDecoder(.chunked)
            var buffer = ByteBuffer()
            var rest = Array(text.utf8)[...]
            var part: BodyDecoder.Part?
            while part != .end, !rest.isEmpty {
                buffer.writeBytes(rest.prefix(step))
                rest = rest.dropFirst(step)
                while let next = try decoder.next(from: &buffer) {
                    part = next
                    if next == .end { break }
                    #expect(decoder.trailers == nil)
                }
            }
            #expect(part == .end)
            #expect(decoder.trailers?.map { "\($0.name): \($0.value)" } == expected, "step \(step)")
        }
    }

    static let malformed = [
        "g\r\n", "\r\n", "0x5\r\nhello\r\n", "+5\r\nhello\r\n", "-5\r\n", " 5\r\nhello\r\n", "5 \r\nhello\r\n",
        "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhelloX\r\n", "5\r\nhello0\r\n\r\n", "0_5\r\nhello\r\n",
        "5;\r\nhello\r\n", "5;a;\r\nhello\r\n", "5;a=\r\nhello\r\n", "5;a=\"b\r\nhello\r\n", "5;a=\"b\\\"\r\nhello\r\n",
        "5;a=\"b\"c\r\nhello\r\n", "5;a b\r\nhello\r\n", "5;=b\r\nhello\r\n", "5;a=\"\u{1}\"\r\nhello\r\n",
        "5;a\rb\r\nhello\r\n", "5;a\0\r\nhello\r\n", "ffffffffffffffff\r\n", "10000000000000\r\n",
        "0\r\nX : y\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\n\n",
        "5;\(String(repeating: "a", count: 300))\r\nhello\r\n",
        "0\r\nX: \(String(repeating: "a", count: 9000))",
    ]

    @Test("A malformed chunk or trailer is a fault, and no clean end", arguments: malformed)
    func refuses(text: String) {
        for step in [1, 4, 100_000] {
            var refused = false
            do {
                _ = try decode(.chunked, text, step: step)
            } catch {
                refused = true
            }
            #expect(refused, "step \(step)")
        }
    }

    @Test(
        "A body that has not ended is not taken for complete",
        arguments: ["5\r\nhel", "5\r\nhello\r\n", "0\r\n", "0\r\nX: y\r\n"])
    func incomplete(text: String) throws {
        #expect(try decode(.chunked, text, step: 1) == nil)
    }
}
