/// Base64 with the URL-safe alphabet, without padding (RFC 4648, 5; RFC 7515, 2).
package enum Base64URL {
    private static let coding = Base64Coding(characters62And63: "-_")

    package static func encode(_ bytes: [UInt8]) -> String {
        coding.encode(bytes)
    }

    /// Decodes `text`. Nil if it has anything but the alphabet (padding and white space included), a length that no
    /// encoder makes, or trailing bits that aren't zero: each byte string has exactly one spelling.
    @inlinable
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        return decode(text.span)
    }

    /// Decodes `text` without copying it.
    package static func decode(_ text: borrowing Span<UInt8>) -> [UInt8]? {
        coding.decode(text)
    }
}

/// Base64 with the ordinary alphabet and padding (RFC 4648, 4).
package enum Base64 {
    private static let coding = Base64Coding(characters62And63: "+/")

    package static func encode(_ bytes: [UInt8]) -> String {
        let text = coding.encode(bytes)
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// Decodes `text`. Nil unless it is exactly the result of ``encode(_:)`` for some bytes.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        return coding.decode(text.span.extracting(droppingLast: padding))
    }
}

/// One alphabet in both directions, without padding.
private struct Base64Coding: Sendable {
    private static let invalid: UInt8 = 0xff
    private let alphabet: [UInt8]
    private let values: [UInt8]

    init(characters62And63: String) {
        alphabet = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + characters62And63).utf8)
        var values = [UInt8](repeating: Self.invalid, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    func encode(_ bytes: [UInt8]) -> String {
        let over = bytes.count % 3
        let whole = bytes.count - over
        let bytes = bytes.span
        return unsafe String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
            unsafe alphabet.withUnsafeBufferPointer { alphabet in
                var (from, count) = (0, 0)
                // One check for the whole loop: `from` stays below the number of bytes, and every three bytes make four
                // characters.
                while from < whole {
                    let bits =
                        unsafe Int(bytes[unchecked: from]) << 16 | Int(bytes[unchecked: from + 1]) << 8
                        | Int(bytes[unchecked: from + 2])
                    unsafe text[count] = alphabet[bits >> 18]
                    unsafe text[count + 1] = alphabet[bits >> 12 & 63]
                    unsafe text[count + 2] = alphabet[bits >> 6 & 63]
                    unsafe text[count + 3] = alphabet[bits & 63]
                    from += 3
                    count += 4
                }
                guard over > 0 else { return count }
                let bits = Int(bytes[whole]) << 8 | (over == 2 ? Int(bytes[whole + 1]) : 0)
                unsafe text[count] = alphabet[bits >> 10]
                unsafe text[count + 1] = alphabet[bits >> 4 & 63]
                if over == 2 { unsafe text[count + 2] = alphabet[bits << 2 & 63] }
                return count + over + 1
            }
        }
    }

    func decode(_ text: borrowing Span<UInt8>) -> [UInt8]? {
        // A single remaining character encodes no byte.
        let over = text.count % 4
        guard over != 1 else { return nil }
        // The values of invalid characters have bits that no valid value has.
        var seen: UInt32 = 0
        let whole = text.count - over
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: whole / 4 * 3 + max(0, over - 1)) { buffer, count in
            unsafe values.withUnsafeBufferPointer { values in
                var from = 0
                // One check for the whole loop: `from` stays below the text's length, and every four characters make
                // three bytes.
                while from < whole {
                    let first = unsafe UInt32(values[Int(text[unchecked: from])])
                    let second = unsafe UInt32(values[Int(text[unchecked: from + 1])])
                    let third = unsafe UInt32(values[Int(text[unchecked: from + 2])])
                    let fourth = unsafe UInt32(values[Int(text[unchecked: from + 3])])
                    seen |= first | second | third | fourth
                    let bits = first << 18 | second << 12 | third << 6 | fourth
                    unsafe buffer[count] = UInt8(truncatingIfNeeded: bits >> 16)
                    unsafe buffer[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                    unsafe buffer[count + 2] = UInt8(truncatingIfNeeded: bits)
                    from += 4
                    count += 3
                }
            }
            guard over > 0 else { return }
            let last = last(text, from: whole)
            seen |= last.seen
            unsafe buffer[count] = UInt8(truncatingIfNeeded: last.bits >> 16)
            if over == 3 { unsafe buffer[count + 1] = UInt8(truncatingIfNeeded: last.bits >> 8) }
            count += over - 1
        }
        return seen & 0xc0 == 0 ? bytes : nil
    }

    /// Two or three characters as 24 bits, and the union of the bits of their values.
    private func last(_ text: borrowing Span<UInt8>, from start: Int) -> (bits: UInt32, seen: UInt32) {
        var bits: UInt32 = 0
        var seen: UInt32 = 0
        for index in start..<text.count {
            let value = UInt32(values[Int(text[index])])
            bits = bits << 6 | value
            seen |= value
        }
        let over = UInt32(text.count - start)
        bits <<= 6 * (4 - over)
        // Bits that make no whole byte must be zero (RFC 4648, 3.5).
        if bits << (8 * (over - 1)) & 0xff_ffff != 0 { seen = .max }
        return (bits, seen)
    }
}
