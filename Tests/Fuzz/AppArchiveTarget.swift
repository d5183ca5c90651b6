// Compiled by run.sh into one module with Sources/AppAudit.

internal import Zlib

private func expanded(_ bytes: [UInt8], by step: Int) -> (bytes: [UInt8], crc32: UInt32)? {
    do {
        var inflater = try Inflater()
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            inflater.feed(Array(bytes[start..<min(start + step, bytes.count)]))
            while case let piece = try inflater.read(atMost: 300), !piece.isEmpty {
                result += piece
                // A small input can stand for much.
                if result.count > 1 << 20 { return nil }
            }
        }
        return inflater.isAtEnd ? (result, inflater.crc32) : nil
    } catch {
        return nil
    }
}

/// Input: an archive; and Deflate data.
@_cdecl("fuzzAppArchive")
public func fuzzAppArchive(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    var limits = ArchiveLimits()
    limits.maximumTotalBytes = 8 << 20
    let audit = ArchiveAudit(scanner: .standard, limits: limits)
    let report = audit.report(on: ArchiveBytes(bytes), path: "a.zip")
    precondition(report.findings.allSatisfy { $0.path.hasPrefix("a.zip!/") }, "a finding is outside the archive")
    precondition(report.notRead.allSatisfy { $0.path.hasPrefix("a.zip") }, "a path is outside the archive")
    precondition(
        audit.report(on: ArchiveBytes(bytes), path: "a.zip").findings == report.findings, "it reads differently")
    if let directory = try? ZipDirectory(ArchiveBytes(bytes), limits: limits) {
        let ranges = directory.entries.map { $0.headerOffset..<$0.limit }.sorted { $0.lowerBound < $1.lowerBound }
        precondition(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }, "entries overlap")
        precondition(ranges.allSatisfy { $0.upperBound <= count }, "an entry is outside the archive")
    }
    if let whole = expanded(bytes, by: max(count, 1)) {
        guard let pieces = expanded(bytes, by: 1) else { preconditionFailure("pieces expand to nothing") }
        precondition(whole == pieces, "pieces expand to something else")
    }
    return 0
}
