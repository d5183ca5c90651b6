internal import Encoding

/// Writes the compact binary form of sealed values: big-endian integers, fields preceded by their length.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(byte: UInt8) {
        bytes.append(byte)
    }

    package mutating func write(integer: Int64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: integer >> Int64(shift)))
        }
    }

    /// - Returns: `false`, with nothing written, if the field's length does not fit in 16 bits.
    package mutating func write(field: [UInt8]) -> Bool {
        guard let length = UInt16(exactly: field.count) else { return false }
        bytes.append(UInt8(truncatingIfNeeded: length >> 8))
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(contentsOf: field)
        return true
    }

    package mutating func write(text: String) -> Bool { write(field: Array(text.utf8)) }

    /// Writes a byte that shows whether there is a text, and then the text.
    package mutating func write(optional text: String?) -> Bool {
        write(byte: text == nil ? 0 : 1)
        return write(text: text ?? "")
    }
}

/// Reads the output of ``ByteWriter``. Each read returns `nil` if the bytes end too early.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    package var isAtEnd: Bool { rest.isEmpty }

    package mutating func readByte() -> UInt8? {
        rest.popFirst()
    }

    package mutating func readInteger() -> Int64? {
        guard let raw = read(count: 8) else { return nil }
        return raw.reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    package mutating func readField() -> [UInt8]? {
        guard let length = read(count: 2) else { return nil }
        return read(count: length.reduce(0) { $0 << 8 | Int($1) })
    }

    package mutating func readText() -> String? {
        guard let field = readField() else { return nil }
        return String(validating: field, as: UTF8.self)
    }

    /// Reads the output of ``ByteWriter/write(optional:)``.
    package mutating func readOptional() -> OptionalText? {
        guard let isThere = readByte(), isThere <= 1, let text = readText() else { return nil }
        return OptionalText(text: isThere == 1 ? text : nil)
    }

    /// A text that was read; nil if the optional was.
    package struct OptionalText {
        package var text: String?
    }

    private mutating func read(count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
