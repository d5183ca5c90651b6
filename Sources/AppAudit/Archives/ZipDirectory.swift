/// The central directory of a ZIP archive (APPNOTE 6.3.10, 4.3). Ambiguous archives are refused.
struct ZipDirectory {
    struct Entry: Equatable {
        let name: [UInt8]
        let method: Int
        let isEncrypted: Bool
        let crc32: UInt32
        let compressedSize: Int
        let size: Int
        let headerOffset: Int
        /// The offset of the next entry or of the directory.
        var limit = 0

        var isDirectory: Bool { name.last == UInt8(ascii: "/") }

        /// Whether a program that unpacks the entry could write outside its target directory.
        var leadsOutside: Bool {
            if name.first == UInt8(ascii: "/") || name.contains(UInt8(ascii: "\\")) || name.contains(0) { return true }
            return name.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) }
        }
    }

    private(set) var entries: [Entry] = []

    /// The maximum size of a directory: 65 534 entries with names and extra fields of 900 bytes.
    private static let maximumBytes = 64 << 20
    private static let endSize = 22
    private static let entrySize = 46

    init(_ archive: ArchiveBytes, limits: ArchiveLimits) throws(ArchiveError) {
        let tailStart = max(0, archive.count - Self.endSize - 0xFFFF)
        guard let tail = archive.read(tailStart..<archive.count), let end = Self.endRecord(tail) else {
            throw .notAnArchive
        }
        let count = tail.littleEndian(at: end + 10, bytes: 2)
        let length = tail.littleEndian(at: end + 12, bytes: 4)
        let offset = tail.littleEndian(at: end + 16, bytes: 4)
        // The highest numbers refer to those of a ZIP64 record (4.3.16).
        guard count < 0xFFFF, length < 0xFFFF_FFFF, offset < 0xFFFF_FFFF else { throw .zip64 }
        guard count <= limits.maximumEntries, length <= Self.maximumBytes else { throw .tooManyEntries }
        // There must be no parts on other disks, and nothing between the directory and its end record.
        guard tail.littleEndian(at: end + 4, bytes: 4) == 0, tail.littleEndian(at: end + 8, bytes: 2) == count,
            offset + length == tailStart + end, let bytes = archive.read(offset..<offset + length)
        else { throw .damaged }
        try readEntries(bytes, count)
        try limitEntries(directory: offset)
    }

    private static func endRecord(_ tail: [UInt8]) -> Int? {
        guard tail.count >= endSize else { return nil }
        return (0...(tail.count - endSize)).reversed().first { place in
            tail.has([0x50, 0x4B, 0x05, 0x06], at: place)
                && place + endSize + tail.littleEndian(at: place + 20, bytes: 2) == tail.count
        }
    }

    private mutating func readEntries(_ bytes: [UInt8], _ count: Int) throws(ArchiveError) {
        var place = 0
        for _ in 0..<count {
            guard bytes.count - place >= Self.entrySize, bytes.has([0x50, 0x4B, 0x01, 0x02], at: place) else {
                throw .damaged
            }
            let nameEnd = place + Self.entrySize + bytes.littleEndian(at: place + 28, bytes: 2)
            let end =
                nameEnd + bytes.littleEndian(at: place + 30, bytes: 2) + bytes.littleEndian(at: place + 32, bytes: 2)
            guard end <= bytes.count else { throw .damaged }
            let entry = Entry(
                name: Array(bytes[place + Self.entrySize..<nameEnd]),
                method: bytes.littleEndian(at: place + 10, bytes: 2),
                isEncrypted: bytes[place + 8] & 1 == 1,
                crc32: UInt32(bytes.littleEndian(at: place + 16, bytes: 4)),
                compressedSize: bytes.littleEndian(at: place + 20, bytes: 4),
                size: bytes.littleEndian(at: place + 24, bytes: 4),
                headerOffset: bytes.littleEndian(at: place + 42, bytes: 4))
            guard max(entry.compressedSize, entry.size, entry.headerOffset) < 0xFFFF_FFFF else { throw .zip64 }
            entries.append(entry)
            place = end
        }
        guard place == bytes.count else { throw .damaged }
    }

    /// Limits each entry to the space before the next, so that no two share bytes: shared bytes make archives
    /// decompress to far more than their size (Fifield, A better zip bomb, 2019).
    private mutating func limitEntries(directory: Int) throws(ArchiveError) {
        var limit = directory
        for index in entries.indices.sorted(by: { entries[$0].headerOffset > entries[$1].headerOffset }) {
            let entry = entries[index]
            let least = ZipContents.headerSize + entry.name.count + entry.compressedSize
            guard entry.headerOffset + least <= limit else { throw .overlapping }
            entries[index].limit = limit
            limit = entry.headerOffset
        }
    }
}
