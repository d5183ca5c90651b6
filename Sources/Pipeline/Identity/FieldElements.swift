internal import Encoding
internal import HTTPTypes

extension HTTPField {
    /// The elements of the value between separators, without surrounding blanks and without empty elements.
    ///
    /// Backends split bytes, and so does this. As Swift characters, U+037E equals a semicolon, and a separator before a
    /// combining mark is not a separator. Comparing characters also takes time quadratic in the number of combining
    /// marks of one, which only the length of the field limits.
    func elements(separatedBy separator: Unicode.Scalar) -> [ArraySlice<UInt8>] {
        let bytes = unsafe withUnsafeBytesOfValue { unsafe Array($0) }
        return bytes.split(separator: UInt8(ascii: separator)).map(\.withoutOuterBlanks).filter { !$0.isEmpty }
    }
}

extension ArraySlice<UInt8> {
    /// The slice without leading and trailing spaces and tabs.
    var withoutOuterBlanks: ArraySlice<UInt8> {
        var bytes = drop(while: Self.isBlank)
        while let last = bytes.last, Self.isBlank(last) { bytes.removeLast() }
        return bytes
    }

    /// The text in lower case and without blanks; nil if it is not ASCII, as every name is.
    var asName: String? {
        guard allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(decoding: lazy.filter { !Self.isBlank($0) }.map(asciiLowercased), as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

extension [ArraySlice<UInt8>] {
    /// The elements joined into one, with the separator between them.
    func joined(by separator: String) -> [UInt8] { [UInt8](joined(separator: separator.utf8)) }
}
