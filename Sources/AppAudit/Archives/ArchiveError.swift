/// The reason why an archive, or one of its entries, is not read.
package enum ArchiveError: String, Error, Sendable {
    case notAnArchive = "is not a ZIP archive, or is truncated"
    case damaged = "is damaged"
    case overlapping = "has entries that overlap"
    case tooManyEntries = "has too many entries"
    case tooManyUnread = "has too many entries that cannot be read"
    case entryTooLarge = "is too large"
    case ratioTooHigh = "expands to too much"
    case totalTooLarge = "expands to too much with the entries before it"
    case zip64 = "is a ZIP64 archive, which is not read"
    case encrypted = "is encrypted"
    case unknownMethod = "has a compression that is not known"
    case outside = "has a path that leads out of its archive"
    case repeated = "has the path of another entry"
    case tooDeep = "is an archive too deep inside others"
    case unreadable = "cannot be read"
}

/// The limits for archives. An archive is untrusted input.
struct ArchiveLimits: Sendable {
    var maximumEntries = 0xFFFE
    /// The size of one entry after decompression. Programs are read in pieces.
    var maximumEntryBytes = 1 << 30
    /// The total size of one archive after decompression, including nested archives.
    var maximumTotalBytes = 4 << 30
    /// The ratio of decompressed to compressed bytes. Deflate reaches 1032; programs and text stay below 30.
    var maximumRatio = 200
    /// The first bytes of an entry, to which the ratio does not apply.
    var freeBytes = 4 << 20
    /// The size of a nested archive, which is read in memory.
    var maximumInnerBytes = 128 << 20
    /// The findings in one archive, including nested archives: all are in memory until the audit ends.
    var maximumFindings = 100_000
    /// The unread entries in one archive, including nested archives. After that the rest of the archive is not read.
    var maximumUnread = 10_000
    /// The nesting depth; an archive that is a file has depth 0.
    var maximumDepth = 2
}
