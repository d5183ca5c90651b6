internal import Encoding

/// The percent-decoding of a path with escapes. It refuses whatever is invalid only when decoded.
enum PathDecoding {
    /// Decodes the first `end` bytes, whose raw bytes ``PathScan`` has checked.
    static func decode(_ bytes: borrowing Span<UInt8>, upTo end: Int) throws(PathFault) -> String {
        let decoded = try unescape(bytes, upTo: end)
        try checkSecondDecoding(decoded.span)
        guard let text = String(validating: decoded, as: UTF8.self) else { throw .invalidUTF8 }
        if text.utf8.count != text.unicodeScalars.count {
            for scalar in text.unicodeScalars where PathBytes.isDeceptive(scalar) {
                throw scalar.value < 0xA0 ? .encodedControl : .deceptiveCharacter
            }
        }
        try checkSegments(decoded)
        // URL libraries drop tabs and line breaks, so the path must also be valid without its controls.
        try checkSegments(withoutControls(decoded))
        return text
    }

    private static func checkSegments(_ decoded: [UInt8]) throws(PathFault) {
        let bytes = decoded.span
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") {
            try PathScan.checkSegment(bytes, at: index + 1)
        }
    }

    private static func withoutControls(_ decoded: [UInt8]) -> [UInt8] {
        decoded.contains(where: PathBytes.isControl) ? decoded.filter { !PathBytes.isControl($0) } : []
    }

    /// Whether some software would truncate the decoded path: at a parameter, as if a query or fragment began there, or
    /// at a control.
    static func mayBeCut(_ decoded: borrowing Span<UInt8>) -> Bool {
        for index in decoded.indices {
            switch decoded[index] {
            case UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
            case let byte where PathBytes.isControl(byte): return true
            default: continue
            }
        }
        return false
    }

    private static func unescape(_ bytes: borrowing Span<UInt8>, upTo end: Int) throws(PathFault) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(end)
        var index = 0
        while index < end {
            guard bytes[index] == UInt8(ascii: "%") else {
                decoded.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < end, let byte = bytes.percentEncodedByte(at: index) else { throw .malformedEscape }
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") { throw .encodedSeparator }
            // NUL is not text, and it ends a C string. For other controls see otherReadings().
            if byte == 0 { throw .encodedControl }
            decoded.append(byte)
            index += 3
        }
        return decoded
    }

    /// Checks the decoded bytes and not `%25`, so that `%25%32%65` is detected as well.
    private static func checkSecondDecoding(_ decoded: borrowing Span<UInt8>) throws(PathFault) {
        var index = 0
        while index + 2 < decoded.count {
            if decoded.percentEncodedByte(at: index) != nil { throw .doubleEncoding }
            index += 1
        }
    }
}
