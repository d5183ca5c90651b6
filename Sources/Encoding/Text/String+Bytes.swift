extension String {
    /// Whether both have the same UTF-8 bytes; `==` on strings compares by canonical equivalence.
    @inlinable
    package func hasSameBytes(as other: String) -> Bool {
        utf8.span.hasSameBytes(as: other.utf8.span)
    }

    /// Whether the text is one of these, byte for byte.
    @inlinable
    package func isOne(of texts: some Sequence<String>) -> Bool {
        texts.contains { $0.hasSameBytes(as: self) }
    }

    /// Whether the text's bytes begin with those of `prefix`.
    @inlinable
    package func begins(with prefix: String) -> Bool {
        utf8.span.matches(prefix.utf8.span)
    }

    /// Whether the text's bytes end with those of `suffix`.
    @inlinable
    package func ends(with suffix: String) -> Bool {
        utf8.span.matches(suffix.utf8.span, at: utf8.count - suffix.utf8.count)
    }

    /// Whether the text's bytes contain those of `part`.
    package func holds(_ part: String) -> Bool {
        let (bytes, part) = (utf8.span, part.utf8.span)
        guard part.count > 0 else { return true }
        var start = 0
        while let index = bytes.firstIndex(of: part[0], from: start) {
            if bytes.matches(part, at: index) { return true }
            start = index + 1
        }
        return false
    }

    /// The text with `A`–`Z` made lower case, and nothing else.
    @inlinable
    package var asciiLowercased: String {
        guard utf8.contains(where: { $0 &- UInt8(ascii: "A") < 26 }) else { return self }
        return String(decoding: utf8.map(Encoding.asciiLowercased), as: UTF8.self)
    }

    /// The text in lower case, for names that are the same in any case.
    ///
    /// Linear: scalar by scalar (Unicode 3.13, R2), unlike comparisons. Text that is not ASCII takes about 50 ns for
    /// each scalar, so do not use this for anything longer than a name.
    package var foldedCase: String { utf8.allSatisfy { $0 < 0x80 } ? asciiLowercased : lowercased() }

    /// The longest prefix of the text with at most `limit` bytes; no scalar is split.
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: max(0, limit))
        // The bytes 10xxxxxx continue a scalar (RFC 3629, section 3).
        while utf8[end] & 0b1100_0000 == 0b1000_0000 { end = utf8.index(before: end) }
        return String(decoding: utf8[..<end], as: UTF8.self)
    }
}

extension String? {
    /// Whether there is a text with these UTF-8 bytes.
    package func hasSameBytes(as other: String) -> Bool { map { $0.hasSameBytes(as: other) } ?? false }
}

extension RawRepresentable<String> where Self: CaseIterable {
    /// The case whose raw value has exactly these bytes; nil if there is none. `init(rawValue:)` compares by canonical
    /// equivalence.
    @inlinable
    package init?(exactly text: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else { return nil }
        self = found
    }
}

/// Makes a compiler-derived `==` and `hash(into:)` use the bytes of a text.
@propertyWrapper
package struct Exact<Value: ExactlyComparable>: Hashable, Sendable {
    package var wrappedValue: Value

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    package static func == (one: Exact, other: Exact) -> Bool { one.wrappedValue.exact == other.wrappedValue.exact }
    package func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue.exact) }
}

/// A text or a container of texts that ``Exact`` compares.
package protocol ExactlyComparable: Sendable {
    associatedtype ExactForm: Hashable
    var exact: ExactForm { get }
}

extension String: ExactlyComparable {
    package var exact: ExactText { ExactText(self) }
}

extension Optional: ExactlyComparable where Wrapped == String {
    package var exact: ExactText? { map { ExactText($0) } }
}

extension Array: ExactlyComparable where Element == String {}
