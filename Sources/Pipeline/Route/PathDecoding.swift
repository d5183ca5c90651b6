/// The percent-decoding of a path that holds escapes, with everything refused that decoding brings to light.
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
        for index in decoded.indices where decoded[index] == UInt8(ascii: "/") {
            try PathScan.checkSegment(decoded.span, at: index + 1)
        }
        return text
    }

    /// Whether some software would cut the decoded path: at a parameter, or as if a query or fragment began there.
    static func mayBeCut(_ decoded: borrowing Span<UInt8>) -> Bool {
        for index in decoded.indices {
            switch decoded[index] {
            case UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
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
            guard index + 2 < end,
                let high = PathBytes.hexValue(bytes[index + 1]), let low = PathBytes.hexValue(bytes[index + 2])
            else { throw .malformedEscape }
            let byte = high << 4 | low
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") { throw .encodedSeparator }
            if PathBytes.isControl(byte) { throw .encodedControl }
            decoded.append(byte)
            index += 3
        }
        return decoded
    }

    /// Looks at the decoded bytes, not at `%25`, so that `%25%32%65` is found as well.
    private static func checkSecondDecoding(_ decoded: borrowing Span<UInt8>) throws(PathFault) {
        var index = 0
        while index + 2 < decoded.count {
            if decoded[index] == UInt8(ascii: "%"), PathBytes.hexValue(decoded[index + 1]) != nil,
                PathBytes.hexValue(decoded[index + 2]) != nil
            {
                throw .doubleEncoding
            }
            index += 1
        }
    }
}
