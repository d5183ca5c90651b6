/// Why nothing can be audited at a path.
package enum AuditError: String, Error, Sendable {
    case notFound = "no such file or directory"
    case archive = "is an archive, which is not read. Unpack it, or audit the app's sources"
    case irrelevant = "is not a kind of file that is audited"
    case unreadable = "cannot be read, or is too large"
}

/// The audit of one app's tree.
package struct Audit: Sendable {
    private let scanner: Scanner
    private let includesIgnored: Bool
    /// The most tasks that read files at the same time.
    private let width: Int

    /// - Parameters:
    ///   - domains: custom domains of pools.
    ///   - includesIgnored: whether files are read that `.gitignore` and the list of build directories leave out.
    package init(domains: [String] = [], includesIgnored: Bool = false, width: Int = 4) {
        scanner = Scanner(domains: domains)
        self.includesIgnored = includesIgnored
        self.width = max(width, 1)
    }

    /// Audits a directory, or one file.
    ///
    /// - Parameter progress: called with the number of files so far, and not at the same time.
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
        switch FileAudit(root: root, scanner: scanner, followsLink: true).read(Array(path[start...])) {
        case .read(let findings): report.add(.read(findings), path: [])
        case .archive: throw .archive
        case .irrelevant: throw .irrelevant
        case .unreadable: throw .unreadable
        }
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
                    for path in paths { part.add(audit.read(path), path: path) }
                    return part
                }
            }
            for await part in group { report.merge(part) }
            return report
        }
        report.leftOut = walk.ignored
        report.notRead += walk.unreadable.map { $0.isEmpty ? "." : $0 }
        report.sort()
        return report
    }
}
