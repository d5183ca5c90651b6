/// The texts in a binary: runs of visible ASCII, in one byte for each character or in two (UTF-16).
///
/// Compiled Android resources and localised strings have UTF-16. A byte 0 is behind each run.
struct TextRuns {
    private(set) var text: [UInt8] = []
    /// More text was there, and was left out.
    private(set) var isTruncated = false
    private var narrow: [UInt8] = []
    private var wide: [UInt8] = []
    /// A byte that is a character of two bytes if 0 follows.
    private var first: UInt8?

    /// The rules look for nothing shorter.
    private static let minimumLength = 6
    /// A longer run is cut, so that it does not wait in memory for its end.
    static let maximumRun = 1 << 20
    /// The end of a cut run begins the next text too, so that a name across the cut is whole there.
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

    /// Line feeds count: configuration inside programs has them.
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
