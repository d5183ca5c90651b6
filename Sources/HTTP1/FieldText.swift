internal import Glibc
package import HTTPTypes

/// The checks of RFC 9110 for separate names and values, as in HTTP/2.
package enum FieldText {
    /// Returns `text` as a field name, with the customary capitals if it is a known one.
    ///
    /// - Returns: nil unless `text` is a token (RFC 9110 §5.1) without capital letters (RFC 9113 §8.2.1).
    package static func name(_ text: UnsafeRawBufferPointer) -> HTTPField.Name? {
        guard unsafe text.allSatisfy({ Grammar.lowercased($0) == $0 }) else { return nil }
        if let known = unsafe KnownField.lookUp(text) { return known.name }
        guard unsafe Grammar.isToken(text) else { return nil }
        return unsafe HTTPField.Name(String(decoding: text, as: UTF8.self))
    }

    /// Whether `text` is field content (RFC 9110 §5.5) without whitespace at either end (RFC 9113 §8.2.1).
    package static func isValue(_ text: UnsafeRawBufferPointer) -> Bool {
        unsafe Grammar.isFieldContent(text) && Grammar.trimmed(text).count == text.count
    }

    /// Whether `text` and `literal` are the same bytes.
    package static func isSame(_ text: UnsafeRawBufferPointer, _ literal: StaticString) -> Bool {
        guard text.count == literal.utf8CodeUnitCount else { return false }
        guard let start = text.baseAddress else { return true }
        return unsafe memcmp(start, literal.utf8Start, text.count) == 0
    }

    /// Whether `text` is a token (RFC 9110 §5.6.2).
    package static func isToken(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { unsafe Grammar.isToken(UnsafeRawBufferPointer($0)) }
    }

    /// Whether `text` equals `literal`, which must be in lower case, ignoring case.
    package static func isSame(_ text: String, ignoringCase literal: String) -> Bool {
        text.utf8.lazy.map(Grammar.lowercased).elementsEqual(literal.utf8)
    }

    /// See the overload above.
    package static func isSame(_ text: UnsafeRawBufferPointer, ignoringCase literal: StaticString) -> Bool {
        unsafe Grammar.equals(text, ignoringCase: literal)
    }

    /// Returns the value of a Content-Length: digits only, up to 2^53 (RFC 9110 §8.6); nil if it is invalid.
    package static func contentLength(_ text: UnsafeRawBufferPointer) -> Int? { unsafe FramingFields.length(text) }

    /// See the overload above.
    package static func contentLength(_ text: String) -> Int? {
        var text = text
        return text.withUTF8 { unsafe FramingFields.length(UnsafeRawBufferPointer($0)) }
    }

    /// Whether all of `text` is visible ASCII, as a request target must be (RFC 3986 §2).
    package static func isVisible(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
