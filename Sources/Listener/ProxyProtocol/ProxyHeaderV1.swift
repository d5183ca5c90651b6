internal import Encoding
internal import NIOCore
internal import Pipeline

/// Version 1, a line of text (§2.1): `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443` and CRLF.
enum ProxyHeaderV1 {
    private static let start = Array("PROXY ".utf8)
    /// The longest line in bytes, with its CRLF.
    private static let longest = 107

    /// - Returns: the header and the index after it; nil while the line is incomplete.
    static func read(_ bytes: ByteBufferView) throws(ProxyHeaderFault) -> (ProxyHeader, end: Int)? {
        guard bytes.prefix(start.count).elementsEqual(start.prefix(bytes.count)) else { throw .absent }
        let window = bytes.prefix(longest)
        guard let feed = window.firstIndex(of: UInt8(ascii: "\n")) else {
            guard window.count < longest else { throw .malformed }
            return nil
        }
        let line = window[..<feed]
        guard line.last == UInt8(ascii: "\r") else { throw .malformed }
        return (try header(String(decoding: line.dropLast(), as: UTF8.self)), feed + 1)
    }

    private static func header(_ line: String) throws(ProxyHeaderFault) -> ProxyHeader {
        guard line.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw .malformed }
        let words = line.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        switch ExactText(words[1]) {
        case "UNKNOWN": return .peer
        case "TCP4": return .client(try source(words, hasColons: false))
        case "TCP6": return .client(try source(words, hasColons: true))
        default: throw .malformed
        }
    }

    private static func source(_ words: [String], hasColons: Bool) throws(ProxyHeaderFault) -> IPAddress {
        guard words.count == 6, words[2...3].allSatisfy({ $0.utf8.contains(UInt8(ascii: ":")) == hasColons }),
            let source = IPAddress(words[2]), IPAddress(words[3]) != nil, words[4...5].allSatisfy(isPort)
        else { throw .malformed }
        return source
    }

    /// Decimal from 0 to 65535 without leading zeros.
    private static func isPort(_ text: String) -> Bool {
        guard let port = UInt16(text) else { return false }
        return String(port).hasSameBytes(as: text)
    }
}
