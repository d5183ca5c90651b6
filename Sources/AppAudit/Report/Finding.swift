/// Code or data that bypasses the gateway, with its location.
package struct Finding: Equatable, Sendable {
    /// The context of a finding. In all contexts but code it is a note.
    package enum Context: String, Sendable {
        case code
        case comment
        case test
        case document
        /// The definition of a backend, which is not part of the app.
        case backend
    }

    package let rule: Rule
    /// Relative to the audited directory, with `/`.
    package let path: String
    /// Counted from 1; nil in binaries and for whole files.
    package let line: Int?
    /// Counted from 1, in bytes.
    package let column: Int?
    /// The name that was found, never the value of a secret.
    package let name: String
    package let context: Context
    package let replacement: String
    /// Stays the same when other lines of the file change. See ``Fingerprint``.
    package var fingerprint = ""
    /// The hash of the line without spaces, which the fingerprint includes.
    var lineHash: UInt64 = 0

    package var severity: Severity { context == .code ? rule.severity : .note }

    package init(
        rule: Rule, path: String, line: Int?, column: Int?, name: String, context: Context, replacement: String
    ) {
        self.rule = rule
        self.path = path
        self.line = line
        self.column = column
        self.name = name
        self.context = context
        self.replacement = replacement
    }
}
