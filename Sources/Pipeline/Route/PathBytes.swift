/// Byte classes and comparisons of the request target. Bit sets instead of tables: no memory is touched.
enum PathBytes {
    /// `pchar` of RFC 3986 §3.3 without the two that need a closer look, `%` and `;`, and without `/`.
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
        // Bits 0–63: ! $ & ' ( ) * + , - . 0–9 : =     Bits 64–127: @ A–Z _ a–z ~
        let low: UInt64 = 0x27FF_7FD2_0000_0000
        let high: UInt64 = 0x47FF_FFFE_87FF_FFFF
        if byte < 64 { return low &>> UInt64(byte) & 1 == 1 }
        return byte < 128 && high &>> UInt64(byte & 63) & 1 == 1
    }

    /// Whether the byte may stand in a query as received: every visible ASCII character but `#`.
    ///
    /// Wider than RFC 3986 §3.4 on purpose: URL libraries that follow WHATWG, and clients that build URLs by hand,
    /// send `[ ] { } | ^ \ " < >` and the backtick as they are; the query takes no part in matching and is forwarded
    /// untouched, so nothing becomes ambiguous.
    @inline(__always)
    static func isQuery(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#")
    }

    /// C0 controls and DEL.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Characters that some software folds to a dot, a slash or a backslash (compatibility forms under NFKC, and the
    /// mathematical look-alikes), and the C1 controls.
    static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x80...0x9F: true  // C1 controls
        case 0x2024, 0x2025, 0xFE30: true  // one and two dot leader, the latter also for vertical text
        case 0xFE52, 0xFF0E: true  // small and full-width full stop
        case 0x2100, 0x2101, 0x2105, 0x2106: true  // a/c, a/s, c/o and c/u in one character
        case 0x2044, 0x2215, 0x29F8, 0xFF0F: true  // fraction and division slash, big and full-width solidus
        case 0x2216, 0x29F5, 0xFE68, 0xFF3C: true  // set minus, reverse solidus operator, small and full-width
        default: false
        }
    }
}
