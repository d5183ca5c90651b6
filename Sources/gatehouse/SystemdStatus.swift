/// The gateway's status line in `systemctl status`. It has no line breaks, since the next line of a notification would
/// be another assignment (sd_notify(3)), and no characters that move a terminal's cursor. Its length is limited.
struct SystemdStatus: Equatable {
    static let serving = Self(text: "serving")
    /// The maximum length of an error, in Unicode scalars: the service manager drops messages of more than 4096 bytes.
    /// The log has the whole error.
    static let errorLimit = 300

    let text: String

    private init(text: String) { self.text = text }

    /// The settings in use remain. Shows the first error and the number of others.
    static func reloadFailed(_ errors: [String]) -> Self {
        let first = Columns.visible(errors.first ?? "see the log")
        let shown =
            first.unicodeScalars.count > errorLimit ? String(first.unicodeScalars.prefix(errorLimit - 1)) + "…" : first
        let others = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
        return Self(text: "serving; the last reload failed: \(shown)\(others)")
    }
}
