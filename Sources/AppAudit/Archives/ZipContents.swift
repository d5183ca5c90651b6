internal import Zlib

/// The decompressed bytes of one entry, in pieces.
struct ZipContents {
    /// The size of the header before an entry's bytes, without its name and extra field.
    static let headerSize = 30
    private static let pieceSize = 1 << 18

    private let archive: ArchiveBytes
    private let entry: ZipDirectory.Entry
    private let limits: ArchiveLimits

    init(_ entry: ZipDirectory.Entry, in archive: ArchiveBytes, limits: ArchiveLimits) {
        (self.entry, self.archive, self.limits) = (entry, archive, limits)
    }

    /// Calls `body` with one piece after another until it returns false. The checksum is compared at the end. If an
    /// entry is too large, `body` gets its first piece only, which may show that the rest is not needed.
    ///
    /// - Parameter budget: the number of bytes that the archive may still decompress to.
    func forEachPiece(budget: inout Int, _ body: ([UInt8]) -> Bool) throws(ArchiveError) {
        guard !entry.isEncrypted else { throw .encrypted }
        guard budget >= min(entry.size, Self.pieceSize) else { throw .totalTooLarge }
        let stored = try storedRange()
        switch entry.method {
        case 0:
            guard entry.size == entry.compressedSize else { throw .damaged }
            try copy(stored, &budget, body)
        case 8: try expand(stored, &budget, body)
        default: throw .unknownMethod
        }
    }

    /// The reason to read the first piece only; nil: everything is read.
    ///
    /// - Parameter budget: the budget before that piece.
    private func excess(_ budget: Int) -> ArchiveError? {
        if entry.size > limits.maximumEntryBytes { return .entryTooLarge }
        return entry.size > budget ? .totalTooLarge : nil
    }

    /// The range of the entry's compressed bytes. The local header must agree with the directory (APPNOTE, 4.3.7).
    private func storedRange() throws(ArchiveError) -> Range<Int> {
        let nameStart = entry.headerOffset + Self.headerSize
        guard let header = archive.read(entry.headerOffset..<nameStart + entry.name.count),
            header.has([0x50, 0x4B, 0x03, 0x04], at: 0), header.has(entry.name, at: Self.headerSize),
            header.littleEndian(at: 26, bytes: 2) == entry.name.count,
            header.littleEndian(at: 8, bytes: 2) == entry.method
        else { throw .damaged }
        let start = nameStart + entry.name.count + header.littleEndian(at: 28, bytes: 2)
        guard start + entry.compressedSize <= entry.limit else { throw .overlapping }
        return start..<start + entry.compressedSize
    }

    private func copy(
        _ stored: Range<Int>, _ budget: inout Int, _ body: ([UInt8]) -> Bool
    ) throws(ArchiveError) {
        var checksum: UInt = 0
        let excess = excess(budget)
        for range in Self.pieces(of: stored) {
            guard let piece = archive.read(range) else { throw .unreadable }
            budget -= piece.count
            checksum = CyclicRedundancyCheck.continued(checksum, piece)
            guard body(piece) else { return }
            if let excess { throw excess }
        }
        guard UInt32(truncatingIfNeeded: checksum) == entry.crc32 else { throw .damaged }
    }

    private func expand(
        _ stored: Range<Int>, _ budget: inout Int, _ body: ([UInt8]) -> Bool
    ) throws(ArchiveError) {
        var done = 0
        let excess = excess(budget)
        do {
            var inflater = try Inflater()
            for range in Self.pieces(of: stored) {
                guard let input = archive.read(range) else { throw ArchiveError.unreadable }
                inflater.feed(input)
                while true {
                    let piece = try inflater.read(atMost: Self.pieceSize)
                    guard !piece.isEmpty else { break }
                    done += piece.count
                    budget -= piece.count
                    try checkSize(done)
                    guard body(piece) else { return }
                    if let excess { throw excess }
                }
            }
            guard inflater.isAtEnd, done == entry.size, inflater.crc32 == entry.crc32 else {
                throw ArchiveError.damaged
            }
        } catch let error as ArchiveError {
            throw error
        } catch {
            throw .damaged
        }
    }

    private func checkSize(_ done: Int) throws(ArchiveError) {
        // An entry must not exceed its declared size, which was checked against the budget.
        guard done <= entry.size else { throw .damaged }
        guard done <= limits.freeBytes || done / limits.maximumRatio <= entry.compressedSize else {
            throw .ratioTooHigh
        }
    }

    private static func pieces(of range: Range<Int>) -> some Sequence<Range<Int>> {
        stride(from: range.lowerBound, to: range.upperBound, by: pieceSize).lazy.map {
            $0..<min($0 + pieceSize, range.upperBound)
        }
    }
}
