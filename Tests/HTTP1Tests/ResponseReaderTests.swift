import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1

/// The parts of a response, and the reader behind them.
private struct Reading: ~Copyable {
    let parts: [String]
    let reader: ResponseReader
}

/// All parts that `text` makes when it comes in pieces of `step` bytes, as text.
private func read(_ text: String, step: Int, toHead: Bool = false) throws -> Reading {
    var reader = ResponseReader(toHead: toHead)
    var parts: [String] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        reader.receive(ByteBuffer(bytes: rest.prefix(step)))
        rest = rest.dropFirst(step)
        while let part = try reader.next() {
            switch part {
            case .head(let head): parts.append("\(head.status.code)")
            case .data(let data):
                if let last = parts.last, last.hasPrefix(":") {
                    parts[parts.count - 1] = last + String(buffer: data)
                } else {
                    parts.append(":" + String(buffer: data))
                }
            case .end: parts.append("end")
            }
        }
        reader.keepRest()
    }
    return Reading(parts: parts, reader: reader)
}

@Suite struct ResponseReaderTests {
    static let responses: [(String, [String])] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", ["200", ":abc", "end"]),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            ["200", ":abc", "end"]
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", ["204", "end"]),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
            ["404", "end"]
        ),
        ("HTTP/1.1 200 OK\r\n\r\nabc", ["200", ":abc"]),
    ]

    @Test("A response is the same in whatever pieces it comes", arguments: responses, [1, 2, 3, 7, 1000])
    func pieces(_ response: (text: String, parts: [String]), step: Int) throws {
        let reading = try read(response.text, step: step)
        #expect(reading.parts == response.parts)
        let hasRest = reading.reader.hasRest
        #expect(!hasRest)
    }

    @Test("A response that ends with its connection says so")
    func untilClose() throws {
        let endsWithIt = try read("HTTP/1.1 200 OK\r\n\r\n", step: 5).reader.isUntilClose
        #expect(endsWithIt)
        let endsBefore = try !read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", step: 5).reader.isUntilClose
        #expect(endsBefore)
    }

    @Test("Bytes behind a response are noticed, and are no part of it")
    func rest() throws {
        let reading = try read("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", step: 1000)
        #expect(reading.parts == ["204", "end"])
        let hasRest = reading.reader.hasRest
        #expect(hasRest)
    }

    @Test("What follows 101 goes through a tunnel as it is")
    func tunnel() throws {
        var reader = ResponseReader(toHead: false)
        reader.receive(ByteBuffer(string: "HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 "))
        guard case .head(let head) = try reader.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.status == .switchingProtocols)
        reader.becomeTunnel()
        guard case .data(let data) = try reader.next() else {
            Issue.record("no data")
            return
        }
        #expect(String(buffer: data) == "HTTP/1.1 ")
    }
}
