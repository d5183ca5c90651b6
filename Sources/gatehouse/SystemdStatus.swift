/// The gateway's line in `systemctl status`. It is one line, since the next line of a message to the service manager
/// would be an assignment of its own (sd_notify(3)). It holds nothing that moves a terminal's cursor, and is short
/// enough to be read.
struct SystemdStatus: Equatable {
    static let serving = Self(text: "serving")
    /// Unicode scalars of a fault: what is longer than 4096 bytes the service manager drops. The log has the whole.
    static let errorLimit = 300

    let text: String

    private init(text: String) { self.text = text }

    /// The settings in use stay: the first reason, and how many there are besides.
    static func reloadFailed(_ errors: [String]) -> Self {
        let first = Columns.visible(errors.first ?? "see the log")
        let shown =
            first.unicodeScalars.count > errorLimit ? String(first.unicodeScalars.prefix(errorLimit - 1)) + "…" : first
        let others = errors.count > 1 ? " (and \(errors.count - 1) more)" : ""
        return Self(text: "serving; the last reload failed: \(shown)\(others)")
    }
}
