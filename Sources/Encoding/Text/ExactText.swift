/// Text that is compared, ordered and hashed by its UTF-8 bytes.
///
/// `String` compares by Unicode's canonical equivalence: it decomposes both texts and sorts the combining marks of each
/// character, in time that grows with the square of their number. A client that writes a letter with thousands of marks
/// makes each comparison take a tenth of a second. Text from outside is therefore a key, a case of a `switch` or an
/// operand of `==` in this form only; Tests/Lint/untrusted_text.py finds other uses.
package struct ExactText: Hashable, Comparable, Sendable {
    package let text: String

    @inlinable
    package init(_ text: String) { self.text = text }

    @inlinable
    package static func == (one: ExactText, other: ExactText) -> Bool { one.text.hasSameBytes(as: other.text) }

    package static func < (one: ExactText, other: ExactText) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }

    @inlinable
    package func hash(into hasher: inout Hasher) {
        let bytes = text.utf8.span
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        // Distinguishes two texts from two others with the same concatenation.
        hasher.combine(0xFF as UInt8)
    }
}

extension ExactText: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }
    package var description: String { text }
}

extension Sequence<String> {
    /// The texts as keys.
    package var exact: [ExactText] { map { ExactText($0) } }
}

extension Sequence<ExactText> {
    /// The texts in the order of their bytes.
    var sortedTexts: [String] { sorted().map(\.text) }
}
