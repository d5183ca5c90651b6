import Foundation
import Zlib

/// Makes ZIP archives, also wrong ones.
struct ZipBuilder {
    struct Entry {
        var name: String
        var contents: [UInt8]
        /// Nil stores the contents as they are.
        var deflated: [UInt8]?
        var flags = 0
        var method: Int?
        var crc32: UInt32?
        var size: Int?
        /// The name in the entry's own header.
        var otherName: String?
        /// The place of the header instead of the entry's own.
        var offset: Int?

        init(_ name: String, _ contents: String) { self.init(name, Array(contents.utf8)) }

        init(_ name: String, _ contents: [UInt8]) { (self.name, self.contents) = (name, contents) }

        func with(_ change: (inout Self) -> Void) -> Self {
            var copy = self
            change(&copy)
            return copy
        }

        /// In Deflate's blocks without compression (RFC 1951, 3.2.4).
        func inBlocks() -> Self {
            with { entry in
                var deflated: [UInt8] = []
                for start in stride(from: 0, to: contents.count, by: 0xFFFF) {
                    let block = contents[start..<min(start + 0xFFFF, contents.count)]
                    deflated.append(start + block.count == contents.count ? 1 : 0)
                    deflated += ZipBuilder.number(block.count, 2) + ZipBuilder.number(~block.count & 0xFFFF, 2) + block
                }
                entry.deflated = deflated
            }
        }
    }

    var entries: [Entry]
    var comment = ""
    var count: Int?
    var gap = 0

    init(_ entries: Entry...) { self.entries = entries }

    static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    var bytes: [UInt8] {
        var file: [UInt8] = []
        var directory: [UInt8] = []
        for entry in entries {
            let stored = entry.deflated ?? entry.contents
            let name = Array((entry.otherName ?? entry.name).utf8)
            let crc = entry.crc32 ?? UInt32(truncatingIfNeeded: CyclicRedundancyCheck.continued(0, entry.contents))
            let method = entry.method ?? (entry.deflated == nil ? 0 : 8)
            let middle =
                Self.number(entry.flags, 2) + Self.number(method, 2) + Self.number(0, 4) + Self.number(Int(crc), 4)
                + Self.number(stored.count, 4) + Self.number(entry.size ?? entry.contents.count, 4)
            let offset = entry.offset ?? file.count
            file +=
                [0x50, 0x4B, 3, 4] + Self.number(20, 2) + middle + Self.number(name.count, 2) + [0, 0] + name + stored
            directory +=
                [0x50, 0x4B, 1, 2] + Self.number(20, 2) + Self.number(20, 2) + middle
                + Self.number(entry.name.utf8.count, 2) + Self.number(0, 12) + Self.number(offset, 4) + entry.name.utf8
        }
        let start = file.count
        let total = count ?? entries.count
        file += directory + [UInt8](repeating: 0, count: gap)
        file += [0x50, 0x4B, 5, 6] + Self.number(0, 4) + Self.number(total, 2) + Self.number(total, 2)
        return file + Self.number(directory.count, 4) + Self.number(start, 4) + Self.number(comment.utf8.count, 2)
            + comment.utf8
    }
}
