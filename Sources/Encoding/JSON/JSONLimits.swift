/// The limits on a JSON text.
package struct JSONLimits: Sendable {
    /// The maximum length in bytes.
    package var maximumBytes: Int
    /// The maximum nesting of arrays and objects.
    package var maximumDepth: Int

    package init(maximumBytes: Int = 1 << 20, maximumDepth: Int = 32) {
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
    }

    /// 1 MiB and 32 levels.
    package static let `default` = JSONLimits()
}

/// The reason that a text isn't accepted as JSON, and the offset of the byte. Never contains the text itself.
package struct JSONError: Error, Equatable, Sendable {
    package enum Reason: String, Sendable {
        case tooLarge, tooDeep, unexpectedEnd, unexpectedByte, invalidNumber, invalidEscape, invalidUTF8
        case duplicateName, trailingBytes
    }

    package var reason: Reason
    /// The offset in bytes from the start of the text.
    package var offset: Int
}
