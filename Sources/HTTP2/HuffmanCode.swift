internal import CNghttp2

/// The Huffman code of HPACK strings (RFC 7541 §5.2, Appendix B).
package enum HuffmanCode {
    /// - Parameter code: at most 65 536 bytes.
    /// - Returns: the decoded bytes; nil if the code is invalid.
    package static func decoded(_ code: UnsafeRawBufferPointer) -> [UInt8]? {
        var made: OpaquePointer?
        guard nghttp2_hd_inflate_new(&made) == 0, let inflater = made else { return nil }
        defer { nghttp2_hd_inflate_del(inflater) }
        // libnghttp2 decodes only strings in fields, so the code is wrapped in a field without indexing, with the name
        // "x".
        var field: [UInt8] = [0, 1, UInt8(ascii: "x")]
        HPACKInteger.append(code.count, prefix: 7, marked: 0x80, to: &field)
        field.append(contentsOf: code)
        return field.withUnsafeBufferPointer { bytes in
            var (value, flags) = (nghttp2_nv(), CInt(0))
            let taken = nghttp2_hd_inflate_hd2(inflater, &value, &flags, bytes.baseAddress, bytes.count, 1)
            guard taken == bytes.count, UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 else { return nil }
            return Array(UnsafeRawBufferPointer(start: value.value, count: value.valuelen))
        }
    }
}

/// The integers of HPACK (RFC 7541 §5.1).
package enum HPACKInteger {
    /// - Parameters:
    ///   - prefix: the number of bits of the first byte that belong to the integer.
    ///   - marked: the other bits of that byte.
    package static func append(_ number: Int, prefix: Int, marked: UInt8, to bytes: inout [UInt8]) {
        let most = 1 << prefix - 1
        guard number >= most else { return bytes.append(marked | UInt8(number)) }
        bytes.append(marked | UInt8(most))
        var rest = number - most
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Reads an integer.
    ///
    /// - Parameter index: the index of its first byte; set to the index after it.
    /// - Returns: nil if the integer is incomplete, or has more than three bytes after the prefix.
    package static func read(_ bytes: UnsafeRawBufferPointer, at index: inout Int, prefix: Int) -> Int? {
        guard index < bytes.count else { return nil }
        let most = 1 << prefix - 1
        var number = Int(bytes[index]) & most
        index += 1
        guard number == most else { return number }
        for shift in stride(from: 0, to: 21, by: 7) {
            guard index < bytes.count else { return nil }
            let byte = bytes[index]
            index += 1
            number += Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
        }
        return nil
    }
}
