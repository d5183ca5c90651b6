/// The result of an audit.
package struct AuditReport: Sendable {
    /// Sorted by path, line, column and rule.
    package private(set) var findings: [Finding] = []
    /// The findings that the baseline contains, in the same order.
    package private(set) var known: [Finding] = []
    package private(set) var filesRead = 0
    /// The number of files and directories that `.gitignore` files and the list of build directories exclude.
    package internal(set) var leftOut = 0
    /// The number of archives in the tree that were not read, because they are neither apps nor libraries.
    package private(set) var skippedArchives = 0
    /// The paths that could not be read, and were not audited.
    package private(set) var notRead: [UnreadFile] = []

    package func count(of severity: Severity) -> Int { findings.count { $0.severity == severity } }

    /// Whether everything was read and all findings are below `severity`.
    package func isGood(failingOn severity: Severity) -> Bool {
        notRead.isEmpty && findings.allSatisfy { $0.severity < severity }
    }

    /// Moves the findings that the baseline contains to ``known``.
    package mutating func apply(_ baseline: Baseline) {
        known = findings.filter(baseline.contains)
        findings.removeAll(where: baseline.contains)
    }

    mutating func add(_ outcome: FileAudit.Outcome, path: String) {
        switch outcome {
        case .read(let found):
            filesRead += 1
            findings += found
        case .archive(let report): merge(report)
        case .skippedArchive: skippedArchives += 1
        case .unread(let reason): notRead.append(UnreadFile(path: path, reason: reason))
        case .irrelevant: break
        }
    }

    mutating func add(unread path: String, _ error: ArchiveError) {
        notRead.append(UnreadFile(path: path, reason: .archive(error)))
    }

    mutating func merge(_ part: AuditReport) {
        findings += part.findings
        filesRead += part.filesRead
        skippedArchives += part.skippedArchives
        notRead += part.notRead
    }

    /// Sorts the report, so that its order does not depend on the order of reading.
    mutating func sort() {
        findings.sort { left, right in
            if left.path != right.path { return left.path.utf8.lexicographicallyPrecedes(right.path.utf8) }
            let (first, second) = ((left.line ?? 0, left.column ?? 0), (right.line ?? 0, right.column ?? 0))
            return first == second
                ? (left.rule.rawValue, left.name) < (right.rule.rawValue, right.name) : first < second
        }
        notRead.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }
}
