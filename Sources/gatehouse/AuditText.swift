import AppAudit

/// The report of an audit as text for people.
struct AuditText {
    private let report: AuditReport
    private let baseline: String?
    private let terminal = Terminal.standardOutput

    /// - Parameter baseline: the path that the findings were written to; nil if they were not.
    init(_ report: AuditReport, baseline: String?) {
        self.report = report
        self.baseline = baseline
    }

    var lines: [String] {
        report.findings.flatMap(lines(of:)) + report.notRead.map(line(of:)) + summary
    }

    private func lines(of finding: Finding) -> [String] {
        let place = [finding.path] + [finding.line, finding.column].compactMap { $0.map(String.init) }
        let severity = terminal.styled(finding.severity == .note ? .bold : .bad, finding.severity.rawValue)
        let name = Columns.visible(finding.name)
        let context = finding.context == .code ? "" : " (\(finding.context.rawValue))"
        return [
            "\(terminal.styled(.bold, Columns.visible(place.joined(separator: ":")))): \(severity): "
                + "\(finding.rule.title): \(name)\(context) [\(finding.rule.rawValue)]",
            "  instead: \(finding.replacement)",
        ]
    }

    private func line(of file: UnreadFile) -> String {
        "\(terminal.styled(.bold, Columns.visible(file.path))): \(terminal.styled(.bad, file.reason.text))"
    }

    private var summary: [String] {
        let counts = Severity.allCases.reversed().map { Self.counted(report.count(of: $0), $0.rawValue) }
        let known = report.known.isEmpty ? "" : "; \(report.known.count) known"
        var lines = ["\(Self.counted(report.filesRead, "file")) read: \(counts.joined(separator: ", "))\(known)"]
        if report.leftOut > 0 {
            lines.append(
                "\(report.leftOut) left out by .gitignore or as a build directory; --include-ignored reads them")
        }
        if report.skippedArchives > 0 {
            lines.append("\(Self.counted(report.skippedArchives, "archive")) not read; name one to read it")
        }
        if let baseline { lines.append("written to \(Columns.visible(baseline))") }
        return lines
    }

    private static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
