/// The parts of a TLS handshake's first message (RFC 8446, 4.1.2) that identify a challenge. TLS itself parses and
/// validates the message again.
struct ClientHello: Equatable {
    /// The server name (RFC 6066, 3); nil if the message has none.
    var serverName: String?
    /// The protocols of ALPN (RFC 7301), in the client's order.
    var protocols: [[UInt8]] = []

    enum Reading: Equatable {
        case incomplete
        case complete(ClientHello)
        /// Another message, or a malformed or overlong one.
        case other
    }

    /// The longest message that is parsed, in bytes. Longer ones are left to TLS.
    private static let longest = 1 << 14

    /// - Parameter bytes: the first bytes of a connection.
    static func read(_ bytes: [UInt8]) -> Reading {
        guard bytes.count <= longest + 1024 else { return .other }
        var (records, message) = (Fields(bytes[...]), [UInt8]())
        while true {
            if let length = messageLength(message) {
                guard length <= longest else { return .other }
                if message.count >= 4 + length { return parsed(message[4..<4 + length]) }
            }
            // RFC 8446, 5.1: a record of the type handshake.
            guard let type = records.number(1) else { return .incomplete }
            guard type == 22 else { return .other }
            guard records.number(2) != nil, let length = records.number(2) else { return .incomplete }
            guard (1...longest).contains(length) else { return .other }
            guard let fragment = records.take(length) else { return .incomplete }
            message += fragment
            guard message[0] == 1 else { return .other }
        }
    }

    private static func messageLength(_ message: [UInt8]) -> Int? {
        guard message.count >= 4 else { return nil }
        return Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3])
    }

    private static func parsed(_ body: ArraySlice<UInt8>) -> Reading {
        var fields = Fields(body)
        // Version and random; then session, cipher suites and compression methods.
        guard fields.take(34) != nil, fields.vector(1) != nil, fields.vector(2) != nil, fields.vector(1) != nil else {
            return .other
        }
        var hello = ClientHello()
        guard !fields.isAtEnd else { return .complete(hello) }
        guard let extensions = fields.vector(2) else { return .other }
        var rest = Fields(extensions)
        while !rest.isAtEnd {
            guard let type = rest.number(2), let value = rest.vector(2) else { return .other }
            switch type {
            case 0: hello.serverName = serverName(value)
            case 16: hello.protocols = protocols(value)
            default: break
            }
        }
        return .complete(hello)
    }

    private static func serverName(_ value: ArraySlice<UInt8>) -> String? {
        var fields = Fields(value)
        guard let list = fields.vector(2) else { return nil }
        var names = Fields(list)
        guard names.number(1) == 0, let name = names.vector(2) else { return nil }
        return name.allSatisfy { (0x21...0x7E).contains($0) } ? String(decoding: name, as: UTF8.self) : nil
    }

    private static func protocols(_ value: ArraySlice<UInt8>) -> [[UInt8]] {
        var fields = Fields(value)
        guard let list = fields.vector(2) else { return [] }
        var (names, found) = (Fields(list), [[UInt8]]())
        while !names.isAtEnd {
            guard let name = names.vector(1) else { return [] }
            found.append(Array(name))
        }
        return found
    }

    /// A reader of big-endian integers and length-prefixed vectors.
    private struct Fields {
        private var rest: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func number(_ bytes: Int) -> Int? { take(bytes)?.reduce(0) { $0 << 8 | Int($1) } }

        mutating func vector(_ lengthBytes: Int) -> ArraySlice<UInt8>? { number(lengthBytes).flatMap { take($0) } }
    }
}
