/// Audits the entries of an archive. Nothing is unpacked to the disk.
struct ArchiveAudit {
    let scanner: Scanner
    var limits = ArchiveLimits()

    /// - Parameter path: the path of the archive, with which findings begin.
    func report(on archive: ArchiveBytes, path: String) -> AuditReport {
        var report = AuditReport()
        var budget = limits.maximumTotalBytes
        read(archive, path: path, depth: 0, &budget, &report)
        return report
    }

    private func read(
        _ archive: ArchiveBytes, path: String, depth: Int, _ budget: inout Int, _ report: inout AuditReport
    ) {
        do throws(ArchiveError) {
            let directory = try ZipDirectory(archive, limits: limits)
            var seen: Set<[UInt8]> = []
            for entry in directory.entries where !entry.isDirectory {
                let entryPath = "\(path)!/\(String(decoding: entry.name, as: UTF8.self))"
                guard FileNames.mayBeRead(FileNames.last(of: entryPath)) else { continue }
                guard report.notRead.count < limits.maximumUnread else { throw .tooManyUnread }
                do throws(ArchiveError) {
                    guard !entry.leadsOutside else { throw .outside }
                    guard seen.insert(entry.name).inserted else { throw .repeated }
                    try read(entry, of: archive, path: entryPath, depth: depth, &budget, &report)
                } catch {
                    report.add(unread: entryPath, error)
                }
            }
        } catch {
            report.add(unread: path, error)
        }
    }

    private func read(
        _ entry: ZipDirectory.Entry, of archive: ArchiveBytes, path: String, depth: Int, _ budget: inout Int,
        _ report: inout AuditReport
    ) throws(ArchiveError) {
        let contents = ZipContents(entry, in: archive, limits: limits)
        let name = FileNames.last(of: path)
        guard !FileNames.isArchive(name) else {
            guard depth < limits.maximumDepth else { throw .tooDeep }
            guard entry.size <= limits.maximumInnerBytes else { throw .entryTooLarge }
            var bytes: [UInt8] = []
            try contents.forEachPiece(budget: &budget) { piece in
                bytes += piece
                return true
            }
            read(ArchiveBytes(bytes), path: path, depth: depth + 1, &budget, &report)
            return
        }
        var reader = ContentReader(FileNames.language(of: name))
        try contents.forEachPiece(budget: &budget) { reader.add($0) }
        var outcome = FileAudit.outcome(of: reader, path: path, isShipped: true, scanner)
        if case .read(let found) = outcome, report.findings.count + found.count > limits.maximumFindings {
            outcome = .unread(.tooManyNames)
        }
        report.add(outcome, path: path)
    }
}
