/// The bytes of an archive: a file, or in memory an entry of another archive.
final class ArchiveBytes {
    private enum Source: ~Copyable {
        case file(OpenFile)
        case memory([UInt8])
    }

    private let source: Source
    let count: Int

    init(_ file: consuming OpenFile) {
        count = file.size
        source = .file(file)
    }

    init(_ bytes: [UInt8]) {
        count = bytes.count
        source = .memory(bytes)
    }

    /// The bytes of a range; nil if some are missing.
    func read(_ range: Range<Int>) -> [UInt8]? {
        guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
        switch source {
        case .memory(let bytes): return Array(bytes[range])
        case .file(let file):
            // The file may have been truncated since it was opened.
            guard let bytes = file.read(range), bytes.count == range.count else { return nil }
            return bytes
        }
    }
}

extension [UInt8] {
    /// A little-endian number of `bytes` bytes. The bytes must exist.
    func littleEndian(at place: Int, bytes: Int) -> Int {
        (0..<bytes).reduce(0) { $0 | Int(self[place + $1]) << (8 * $1) }
    }
}
