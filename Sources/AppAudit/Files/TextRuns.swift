/// Extracts text from a binary: runs of printable ASCII, as single bytes or as UTF-16.
///
/// Compiled Android resources and localized strings are UTF-16. A zero byte terminates each run.
struct TextRuns {
    private(set) var text: [UInt8] = []
    /// Whether text was dropped because of the size limit.
    private(set) var isTruncated = false
    private var narrow: [UInt8] = []
    private var wide: [UInt8] = []
    /// A byte that is a UTF-16 character if a zero byte follows.
    private var first: UInt8?

    /// The minimum length of a run; the rules have no shorter text.
    private static let minimumLength = 6
    /// The maximum length of a run in memory; longer ones are split.
    static let maximumRun = 1 << 20
    /// The overlap of the parts of a split run, so that each name is complete in one of them.
    private static let overlap = 1 << 12
    private static let maximumBytes = 64 << 20

    mutating func add(_ bytes: [UInt8]) {
        var start = 0
        for (index, byte) in bytes.enumerated() {
            addWide(byte)
            guard !Self.isText(byte) else { continue }
            if index - start + narrow.count >= Self.minimumLength { append(narrow[...], bytes[start..<index]) }
            if !narrow.isEmpty { narrow = [] }
            start = index + 1
        }
        narrow += bytes[start...]
        if narrow.count >= Self.maximumRun {
            append(narrow[...], [])
            narrow.removeFirst(narrow.count - Self.overlap)
        }
    }

    mutating func finish() {
        if narrow.count >= Self.minimumLength { append(narrow[...], []) }
        flushWide()
        (narrow, first) = ([], nil)
    }

    /// Whether a byte is text. Line feeds count, since configuration inside programs has them.
    private static func isText(_ byte: UInt8) -> Bool {
        byte &- 0x20 < 0x5F || byte == 0x0A || byte == 0x0D || byte == 9
    }

    private mutating func addWide(_ byte: UInt8) {
        if let character = first {
            first = nil
            if byte == 0 {
                wide.append(character)
                if wide.count >= Self.maximumRun {
                    append(wide[...], [])
                    wide.removeFirst(wide.count - Self.overlap)
                }
                return
            }
            flushWide()
        }
        if Self.isText(byte) { first = byte } else { flushWide() }
    }

    private mutating func flushWide() {
        guard !wide.isEmpty else { return }
        if wide.count >= Self.minimumLength { append(wide[...], []) }
        wide.removeAll(keepingCapacity: true)
    }

    private mutating func append(_ head: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) {
        guard text.count + head.count + rest.count < Self.maximumBytes else {
            isTruncated = true
            return
        }
        text += head
        text += rest
        text.append(0)
    }
}
