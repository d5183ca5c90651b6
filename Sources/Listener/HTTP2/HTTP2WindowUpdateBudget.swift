internal import NIOCore

/// Counts a client's WINDOW_UPDATE frames against those it has reason to send: some from the start, some for each
/// stream, and some for each DATA frame it gets.
///
/// Frames that do nothing else but be handled cost the client next to nothing, and those of a stream that waits for its
/// backend would be kept in memory until it is read from again.
struct HTTP2WindowUpdateBudget {
    private var left = 100
    /// Bytes of a frame that need not be looked at. A connection begins with the preface (RFC 9113 §3.4).
    private var skipped = 24
    /// The first bytes of a frame whose beginning has come in two reads.
    private var word: UInt32 = 0
    private var wordBytes = 0

    private static let most = 10_000
    private static let perStream = 2
    private static let perDataFrame = 10

    private static let headersType: UInt8 = 1
    private static let windowUpdateType: UInt8 = 8
    /// Of a frame's header, behind length and type (RFC 9113 §4.1).
    private static let restOfHeader = 5

    mutating func dataFrameWasSent() { add(Self.perDataFrame) }

    private mutating func add(_ count: Int) { left = min(left + count, Self.most) }

    /// Looks at what the client has sent.
    ///
    /// - Returns: false when there were more WINDOW_UPDATE frames than it may send.
    mutating func take(_ bytes: ByteBuffer) -> Bool {
        var position = bytes.readerIndex
        while position < bytes.writerIndex {
            if skipped > 0 {
                let count = min(skipped, bytes.writerIndex - position)
                skipped -= count
                position += count
            } else if wordBytes == 0, let whole = bytes.getInteger(at: position, as: UInt32.self) {
                position += 4
                begin(whole)
            } else if let byte = bytes.getInteger(at: position, as: UInt8.self) {
                position += 1
                word = word << 8 | UInt32(byte)
                wordBytes += 1
                if wordBytes == 4 {
                    wordBytes = 0
                    begin(word)
                }
            }
            if left < 0 { return false }
        }
        return true
    }

    /// - Parameter lengthAndType: a frame's first four bytes.
    private mutating func begin(_ lengthAndType: UInt32) {
        skipped = Self.restOfHeader + Int(lengthAndType >> 8)
        switch UInt8(truncatingIfNeeded: lengthAndType) {
        case Self.windowUpdateType: left -= 1
        case Self.headersType: add(Self.perStream)
        default: break
        }
    }
}
