/// Why an archive, or one of its entries, is not read.
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
    /// Expanded, of one entry. Programs are read in pieces.
    var maximumEntryBytes = 1 << 30
    /// Expanded, of one archive with those inside it.
    var maximumTotalBytes = 4 << 30
    /// Expanded bytes for each stored one. Deflate reaches 1032; programs and text stay below 30.
    var maximumRatio = 200
    /// The first bytes of an entry may have any ratio.
    var freeBytes = 4 << 20
    /// An archive inside another is in memory while it is read.
    var maximumInnerBytes = 128 << 20
    /// Of one archive with those inside it: all are in memory until the audit ends.
    var maximumFindings = 100_000
    /// Of one archive with those inside it. The rest of the archive is not read then.
    var maximumUnread = 10_000
    /// An archive that is a file has depth 0.
    var maximumDepth = 2
}
