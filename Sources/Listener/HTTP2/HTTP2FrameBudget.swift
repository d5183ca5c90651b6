/// Counts the frames of a client that cost it next to nothing against those it has reason to send.
///
/// WINDOW_UPDATE frames of a stream that waits for its backend are stored until the stream is read from again. Frames
/// of unknown types, PRIORITY, GOAWAY and the like change nothing. SwiftNIO counts neither.
struct HTTP2FrameBudget {
    private var windowUpdates = 100
    private var idleFrames = 100

    private static let most = 10_000
    private static let windowUpdatesPerStream = 2
    private static let windowUpdatesPerDataFrame = 10
    private static let mostIdleFrames = 1_000
    /// Browsers send a priority (RFC 9113 §6.3, RFC 9218 §7.1) and a frame of a reserved type with a request.
    private static let idleFramesPerStream = 4

    mutating func dataFrameWasSent() { addWindowUpdates(Self.windowUpdatesPerDataFrame) }

    /// Counts one frame of the client's.
    ///
    /// - Returns: false when it is one more than the client may send.
    mutating func take(_ type: HTTP2FrameType) -> Bool {
        switch type {
        case .windowUpdate:
            windowUpdates -= 1
        case .headers:
            addWindowUpdates(Self.windowUpdatesPerStream)
            idleFrames = min(idleFrames + Self.idleFramesPerStream, Self.mostIdleFrames)
        case .data, .resetStream, .settings, .pushPromise, .ping, .continuation:
            break
        default:
            idleFrames -= 1
        }
        return windowUpdates >= 0 && idleFrames >= 0
    }

    private mutating func addWindowUpdates(_ count: Int) { windowUpdates = min(windowUpdates + count, Self.most) }
}

/// The type of a frame (RFC 9113 §6). Other numbers are types of extensions, or none at all.
struct HTTP2FrameType: Equatable {
    let number: UInt8

    static let data = Self(number: 0)
    static let headers = Self(number: 1)
    static let resetStream = Self(number: 3)
    static let settings = Self(number: 4)
    static let pushPromise = Self(number: 5)
    static let ping = Self(number: 6)
    static let goAway = Self(number: 7)
    static let windowUpdate = Self(number: 8)
    static let continuation = Self(number: 9)

    static func ~= (pattern: Self, value: Self) -> Bool { pattern == value }
}
