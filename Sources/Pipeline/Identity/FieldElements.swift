internal import Encoding
internal import HTTPTypes

extension HTTPField {
    /// The parts of the value between these separators, without the blanks around them and without empty ones.
    ///
    /// As bytes, which is what backends split: to Swift's characters U+037E is a semicolon, and a separator with a
    /// combining mark behind it is none. Besides, comparing characters takes time that grows with the square of the
    /// marks of one, which may be as many as a field holds.
    func elements(separatedBy separator: Unicode.Scalar) -> [ArraySlice<UInt8>] {
        let bytes = unsafe withUnsafeBytesOfValue { unsafe Array($0) }
        return bytes.split(separator: UInt8(ascii: separator)).map(\.withoutOuterBlanks).filter { !$0.isEmpty }
    }
}

extension ArraySlice<UInt8> {
    /// Without the spaces and tabs at both ends.
    var withoutOuterBlanks: ArraySlice<UInt8> {
        var bytes = drop(while: Self.isBlank)
        while let last = bytes.last, Self.isBlank(last) { bytes.removeLast() }
        return bytes
    }

    /// The text in lower case and without any blank; nil where it holds more than ASCII, as no name does.
    var asName: String? {
        guard allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(decoding: lazy.filter { !Self.isBlank($0) }.map(asciiLowercased), as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

extension [ArraySlice<UInt8>] {
    /// The parts again as one, with these bytes between.
    func joined(by separator: String) -> [UInt8] { [UInt8](joined(separator: separator.utf8)) }
}
