internal import NIOCore
internal import Pipeline

/// Counts the frames of a client that cost it next to nothing against those it has reason to send.
///
/// libnghttp2 counts acknowledgements that are not sent, and resets. Whatever a client that reads may send without end is
/// counted here, and CONTINUATION frames are, of which libnghttp2 counts the parts that they arrive in.
struct HTTP2FrameBudget {
    private var windowUpdates = 100
    private var idleFrames = 100
    private var emptyFrames = 0
    /// CONTINUATION frames in a row.
    private var continuationFrames = 0
    private let mostContinuationFrames: Int
    /// PING and SETTINGS, each of which wants an answer.
    private var controlFrames = RecentCount(200, within: .seconds(30))
    /// Streams that the client reset, or brought the gateway to reset.
    private var resets: RecentCount
    /// The bytes that may still come of streams that have been reset: as many as their windows allowed.
    private var lateBytes = 0
    /// The same for their trailers.
    private var lateFrames = 200

    private static let most = 10_000
    private static let windowUpdatesPerStream = 2
    private static let windowUpdatesPerDataFrame = 10
    private static let mostIdleFrames = 1_000
    /// Browsers send a priority (RFC 9113 §6.3, RFC 9218 §7.1) and a frame of a reserved type with a request.
    private static let idleFramesPerStream = 4
    private static let mostEmptyFrames = 8

    init(_ limits: HTTP2Limits) {
        // CVE-2023-44487, and CVE-2025-8671 for resets that the client provokes.
        resets = RecentCount(limits.resets, within: limits.resetWindow)
        mostContinuationFrames = limits.continuationFrames
    }

    mutating func dataFrameWasSent() { addWindowUpdates(Self.windowUpdatesPerDataFrame) }

    /// Counts one frame of the client's.
    ///
    /// - Returns: false when it is one more than the client may send.
    mutating func take(_ type: HTTP2FrameType, at now: NIODeadline) -> Bool {
        if type == .continuation {
            continuationFrames += 1
            return continuationFrames <= mostContinuationFrames
        }
        continuationFrames = 0
        switch type {
        case .windowUpdate:
            windowUpdates -= 1
        case .headers:
            addWindowUpdates(Self.windowUpdatesPerStream)
            idleFrames = min(idleFrames + Self.idleFramesPerStream, Self.mostIdleFrames)
        case .ping, .settings:
            return controlFrames.take(at: now)
        case .resetStream:
            return resets.take(at: now)
        case .data, .pushPromise:
            break
        default:
            idleFrames -= 1
        }
        return windowUpdates >= 0 && idleFrames >= 0
    }

    /// A DATA frame has ended, with or without a byte of a body. It did not end its stream.
    ///
    /// - Returns: false when it is one more without than may follow each other.
    mutating func dataHasEnded(isEmpty: Bool) -> Bool {
        emptyFrames = isEmpty ? emptyFrames + 1 : 0
        return emptyFrames <= Self.mostEmptyFrames
    }

    /// The gateway resets a stream for the client's error.
    ///
    /// - Returns: false when it is one more than may be.
    mutating func resetWasProvoked(at now: NIODeadline) -> Bool { resets.take(at: now) }

    /// A stream is reset whose client may have sent as much as its window allows.
    mutating func streamWasReset(window: Int) {
        lateBytes += window
        // Its trailers.
        lateFrames += 1
    }

    /// Counts a frame for a stream that has been reset.
    ///
    /// - Returns: false when the client can have known that nobody takes it.
    mutating func takeLate(_ header: HTTP2FrameHeader) -> Bool {
        if header.type == .data { lateBytes -= max(1, header.length) } else { lateFrames -= 1 }
        return lateBytes >= 0 && lateFrames >= 0
    }

    private mutating func addWindowUpdates(_ count: Int) { windowUpdates = min(windowUpdates + count, Self.most) }
}

/// Counts what may happen so many times within a time, at any moment.
struct RecentCount {
    private let most: Int
    private let period: TimeAmount
    /// When it happened the last times, in a ring.
    private var times: [NIODeadline] = []
    private var oldest = 0

    init(_ most: Int, within period: TimeAmount) {
        self.most = max(0, most)
        self.period = period
    }

    /// It happens once more.
    ///
    /// - Returns: whether it may.
    mutating func take(at now: NIODeadline) -> Bool {
        guard times.count == most else {
            times.append(now)
            return true
        }
        guard most > 0, now - times[oldest] >= period else { return false }
        times[oldest] = now
        oldest = (oldest + 1) % most
        return true
    }
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
