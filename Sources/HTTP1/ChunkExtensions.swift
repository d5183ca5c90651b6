/// `*( ";" BWS chunk-ext-name [ BWS "=" BWS ( token / quoted-string ) ] )` (RFC 9112 §7.1.1).
///
/// Chunk extensions are discarded, but parsed exactly: bytes that a lenient parser skips may contain what another takes
/// for the end of the line. Whitespace before the first `;` is rejected, as it is after a size without extension.
enum ChunkExtensions {
    static func areValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        while position < bytes.count {
            guard unsafe bytes[position] == UInt8(ascii: ";") else { return false }
            unsafe position = afterBlanks(bytes, position + 1)
            guard let nameEnd = unsafe afterToken(bytes, position) else { return false }
            unsafe position = afterBlanks(bytes, nameEnd)
            guard position < bytes.count, unsafe bytes[position] == UInt8(ascii: "=") else { continue }
            unsafe position = afterBlanks(bytes, position + 1)
            guard let valueEnd = unsafe afterQuoted(bytes, position) ?? afterToken(bytes, position) else {
                return false
            }
            unsafe position = afterBlanks(bytes, valueEnd)
        }
        return true
    }

    private static func afterBlanks(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var end = start
        while end < bytes.count, unsafe bytes[end] == Grammar.space || bytes[end] == Grammar.tab { end += 1 }
        return end
    }

    private static func afterToken(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        var end = start
        while end < bytes.count, unsafe Grammar.isToken(bytes[end]) { end += 1 }
        return end > start ? end : nil
    }

    /// quoted-string (RFC 9110 §5.6.4), with `\\` before any character.
    private static func afterQuoted(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        guard start < bytes.count, unsafe bytes[start] == UInt8(ascii: "\"") else { return nil }
        var end = start + 1
        while end < bytes.count {
            let byte = unsafe bytes[end]
            if byte == UInt8(ascii: "\"") { return end + 1 }
            if byte == UInt8(ascii: "\\") { end += 1 }
            guard end < bytes.count, unsafe bytes[end] >= 0x20 || bytes[end] == Grammar.tab, unsafe bytes[end] != 0x7F
            else { return nil }
            end += 1
        }
        return nil
    }
}
