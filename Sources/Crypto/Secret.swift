/// A value that must never be seen in logs, errors or dumps: every way of printing it gives `<redacted>`.
///
/// The bytes are reached only through ``expose()``, so that a search for that word finds every use.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// The secret's bytes. Call this where the secret is used, never to store or print it.
    package func expose() -> [UInt8] { bytes }

    /// The secret as text, decoded as UTF-8.
    package func exposeText() -> String { String(decoding: bytes, as: UTF8.self) }

    package var isEmpty: Bool { bytes.isEmpty }

    package static func == (a: Secret, b: Secret) -> Bool { constantTimeEquals(a.bytes, b.bytes) }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
