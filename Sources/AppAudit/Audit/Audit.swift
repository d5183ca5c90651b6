/// The reason why nothing can be audited at a path.
package enum AuditError: String, Error, Sendable {
    case notFound = "no such file or directory"
    case irrelevant = "is not a kind of file that is audited"
}

/// The audit of one app's tree.
package struct Audit: Sendable {
    private let scanner: Scanner
    private let includesIgnored: Bool
    /// The maximum number of tasks that read files concurrently.
    private let width: Int

    /// - Parameters:
    ///   - domains: custom domains of pools.
    ///   - includesIgnored: whether to read files that `.gitignore` and the list of build directories exclude.
    package init(domains: [String] = [], includesIgnored: Bool = false, width: Int = 4) {
        scanner = domains.isEmpty ? .standard : Scanner(domains: domains)
        self.includesIgnored = includesIgnored
        self.width = max(width, 1)
    }

    /// Audits a directory or a file.
    ///
    /// - Parameter progress: called with the number of files read so far; calls do not overlap.
    package func run(_ path: String, progress: (Int) -> Void = { _ in }) async throws(AuditError) -> AuditReport {
        var root = Array(path.utf8)
        while root.count > 1, root.last == UInt8(ascii: "/") { root.removeLast() }
        switch Directory.kind(of: root, followingLink: true) {
        case .directory: return await auditTree(root, progress)
        case .file: return try auditFile(root)
        case .other: throw .notFound
        }
    }

    private func auditFile(_ path: [UInt8]) throws(AuditError) -> AuditReport {
        let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let root = start == 0 ? [UInt8(ascii: ".")] : Array(path[..<start])
        var report = AuditReport()
        let name = Array(path[start...])
        report.add(
            FileAudit(root: root, scanner: scanner, isNamed: true).read(name),
            path: String(decoding: name, as: UTF8.self))
        guard report.filesRead > 0 || !report.notRead.isEmpty else { throw .irrelevant }
        report.sort()
        return report
    }

    private func auditTree(_ root: [UInt8], _ progress: (Int) -> Void) async -> AuditReport {
        let audit = FileAudit(root: root, scanner: scanner)
        var walk = TreeWalk(root: root, includesIgnored: includesIgnored)
        var report = await withTaskGroup(of: AuditReport.self) { group in
            var report = AuditReport()
            var running = 0
            while let paths = walk.next() {
                if running == width, let part = await group.next() {
                    report.merge(part)
                    progress(report.filesRead)
                    running -= 1
                }
                running += 1
                group.addTask {
                    var part = AuditReport()
                    for path in paths {
                        part.add(audit.read(path), path: String(decoding: path, as: UTF8.self))
                    }
                    return part
                }
            }
            for await part in group { report.merge(part) }
            return report
        }
        report.leftOut = walk.ignored
        for path in walk.unreadable { report.add(.unread(.unreadable), path: path.isEmpty ? "." : path) }
        report.sort()
        return report
    }
}
