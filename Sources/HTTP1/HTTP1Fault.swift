/// A fault of an HTTP/1.1 message. The list is closed; the raw value is the reason code in logs and metrics.
///
/// Each of these ends the connection: after a message that two parties may interpret differently, nothing on it can be
/// trusted (RFC 9112 §11.2).
package enum HTTP1Fault: String, Error, Sendable, CaseIterable {
    case bareLineFeed = "bare-line-feed"
    case malformedRequestLine = "malformed-request-line"
    case malformedStatusLine = "malformed-status-line"
    case malformedTarget = "malformed-target"
    case unsupportedVersion = "unsupported-version"
    case malformedField = "malformed-field"
    case obsoleteFolding = "obsolete-folding"
    case tooManyFields = "too-many-fields"
    case fieldsTooLarge = "fields-too-large"
    case targetTooLong = "target-too-long"
    case missingHost = "missing-host"
    case malformedHost = "malformed-host"
    case malformedContentLength = "malformed-content-length"
    case conflictingFraming = "conflicting-framing"
    case unsupportedTransferCoding = "unsupported-transfer-coding"
    case malformedTransferCoding = "malformed-transfer-coding"
    case malformedChunk = "malformed-chunk"
    case unsupportedExpectation = "unsupported-expectation"
}

/// The limits of a message head. The defaults are those of common servers: 100 fields, 16 KiB per field line, 32 KiB in
/// total.
package struct HeadLimits: Sendable, Equatable {
    /// The bytes of the request line without its CRLF; a longer line is ``HTTP1Fault/targetTooLong``.
    package var requestLine: Int
    /// The bytes of a field line without its CRLF.
    package var fieldLine: Int
    /// The bytes of the whole head.
    package var head: Int
    package var fieldCount: Int

    package init(
        requestLine: Int = 8 << 10, fieldLine: Int = 16 << 10, head: Int = 32 << 10, fieldCount: Int = 100
    ) {
        self.requestLine = requestLine
        self.fieldLine = fieldLine
        self.head = head
        self.fieldCount = fieldCount
    }
}
