internal import Cryptography
internal import Encoding

/// The fields of a WebSocket's opening handshake, from both sides (RFC 6455 §4).
package enum WebSocketHandshake {
    /// The protocol's name in `Upgrade` and `:protocol`.
    package static let protocolName = "websocket"

    /// Whether this is the protocol's name, ignoring case.
    static func isProtocolName(_ text: String) -> Bool {
        text.utf8.count == protocolName.utf8.count && text.utf8.span.matchesIgnoringCase(protocolName.utf8.span)
    }

    /// The only defined version (RFC 6455 §4.1).
    static let version = "13"

    /// RFC 6455 §1.3.
    private static let identifier = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The `Sec-WebSocket-Key` for random bytes.
    ///
    /// - Precondition: there are 16 bytes.
    package static func key(of nonce: [UInt8]) -> String {
        precondition(nonce.count == 16, "a key is made of 16 bytes")
        return Base64.encode(nonce)
    }

    /// The `Sec-WebSocket-Accept` that answers a `Sec-WebSocket-Key` (RFC 6455 §4.2.2).
    package static func accept(for key: String) -> String {
        Base64.encode(SHA1.hash(Array((key + identifier).utf8)))
    }

    /// Whether this is the Base64 of 16 bytes. The unused bits of its last character may have any value: they are not
    /// decoded, and only the text counts.
    static func isKey(_ text: String) -> Bool {
        let bytes = text.utf8
        return bytes.count == 24 && bytes.suffix(2).allSatisfy { $0 == UInt8(ascii: "=") }
            && bytes.dropLast(2).allSatisfy(isCharacter)
    }

    private static func isCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
