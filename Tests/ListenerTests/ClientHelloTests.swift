import Testing

@testable import Listener

@Suite("The first message of a handshake")
struct ClientHelloTests {
    private static func sized(_ bytes: [UInt8], _ lengthBytes: Int) -> [UInt8] {
        (0..<lengthBytes).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) } + bytes
    }

    private static func fieldOfExtension(_ type: UInt8, _ value: [UInt8]) -> [UInt8] { [0, type] + sized(value, 2) }

    /// A message as RFC 8446, 4.1.2 has it.
    private static func message(name: String?, protocols: [String]?) -> [UInt8] {
        var extensions = fieldOfExtension(10, [0, 2, 0, 29])
        if let name { extensions += fieldOfExtension(0, sized([0] + sized(Array(name.utf8), 2), 2)) }
        if let protocols {
            extensions += fieldOfExtension(16, sized(protocols.flatMap { sized(Array($0.utf8), 1) }, 2))
        }
        let random = [UInt8](repeating: 7, count: 32)
        let body = [3, 3] + random + sized([1, 2], 1) + sized([0x13, 1], 2) + sized([0], 1) + sized(extensions, 2)
        return [1] + sized(body, 3)
    }

    private static func records(_ message: [UInt8], size: Int = 16_384) -> [UInt8] {
        stride(from: 0, to: message.count, by: size).flatMap { start in
            [22, 3, 1] + sized(Array(message[start..<min(start + size, message.count)]), 2)
        }
    }

    private static let asked = ClientHello(serverName: "Api.test", protocols: [Array("acme-tls/1".utf8)])

    @Test("Name and protocols are found, in however many records the message comes", arguments: [1, 2, 5, 64, 16_384])
    func found(size: Int) {
        let bytes = Self.records(Self.message(name: "Api.test", protocols: ["acme-tls/1"]), size: size)
        #expect(ClientHello.read(bytes) == .complete(Self.asked))
        #expect(ClientHello.read(bytes + [20, 3, 3, 0, 1, 1]) == .complete(Self.asked))
    }

    @Test("A message that has not come whole is waited for")
    func incomplete() {
        let bytes = Self.records(Self.message(name: "Api.test", protocols: ["acme-tls/1"]), size: 50)
        for count in 0..<bytes.count { #expect(ClientHello.read(Array(bytes[..<count])) == .incomplete, "\(count)") }
    }

    @Test("What is missing is nothing")
    func absent() {
        #expect(ClientHello.read(Self.records(Self.message(name: nil, protocols: nil))) == .complete(ClientHello()))
        #expect(
            ClientHello.read(Self.records(Self.message(name: nil, protocols: ["h2", "http/1.1"])))
                == .complete(ClientHello(protocols: [Array("h2".utf8), Array("http/1.1".utf8)])))
    }

    @Test("What is none, or malformed, is left to TLS")
    func others() {
        let whole = Self.message(name: "a", protocols: nil)
        let cut = [1] + Self.sized(Array(whole[4...].dropLast(3)), 3)
        let cases: [[UInt8]] = [
            Array("GET / HTTP/1.1\r\n".utf8), [22, 3, 1, 0, 0], [22, 3, 1, 255, 255, 1], [22, 3, 1, 0, 1, 2],
            [22, 3, 1, 0, 4, 1, 255, 255, 255], Self.records(cut), Self.records([1, 0, 0, 0]),
            [UInt8](repeating: 22, count: 20_000),
        ]
        for bytes in cases { #expect(ClientHello.read(bytes) == .other, "\(bytes.prefix(8))") }
    }

    @Test("No byte that is another one stops the process")
    func changed() {
        let whole = Self.records(Self.message(name: "Api.test", protocols: ["acme-tls/1"]))
        for (index, value) in whole.indices.flatMap({ index in [0, 1, 127, 128, 255].map { (index, UInt8($0)) } }) {
            var bytes = whole
            bytes[index] = value
            _ = ClientHello.read(bytes)
            _ = ClientHello.read(Array(bytes.dropLast(index % 7)))
        }
    }
}
