internal import NIOCore
internal import Pipeline

/// Limits the frames that cost a client next to nothing, in relation to those that it has reason to send.
///
/// libnghttp2 limits unsent acknowledgements, and resets. Frames that a reading client could send without end are
/// limited here. So are CONTINUATION frames, because libnghttp2 counts the parts in which they arrive.
struct HTTP2FrameBudget {
    private var windowUpdates = 100
    private var idleFrames = 100
    private var emptyFrames = 0
    /// The number of consecutive CONTINUATION frames.
    private var continuationFrames = 0
    private let mostContinuationFrames: Int
    /// PING and SETTINGS frames; each requires an acknowledgement.
    private var controlFrames = RecentCount(200, within: .seconds(30))
    /// Streams that the client reset or provoked the gateway to reset.
    private var resets: RecentCount
    /// The bytes that may still arrive on reset streams: the sum of their windows.
    private var lateBytes = 0
    /// The frames other than DATA that may still arrive on reset streams, such as trailers.
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

    /// Counts a frame of the client's.
    ///
    /// - Returns: false if the client has exceeded a limit.
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

    /// Counts a DATA frame that did not end its stream.
    ///
    /// - Returns: false if too many empty DATA frames have followed each other.
    mutating func dataHasEnded(isEmpty: Bool) -> Bool {
        emptyFrames = isEmpty ? emptyFrames + 1 : 0
        return emptyFrames <= Self.mostEmptyFrames
    }

    /// Counts a stream that the gateway resets for an error of the client's.
    ///
    /// - Returns: false if the limit of resets is exceeded.
    mutating func resetWasProvoked(at now: NIODeadline) -> Bool { resets.take(at: now) }

    /// Allows for late frames of a reset stream: DATA up to its window, and trailers.
    mutating func streamWasReset(window: Int) {
        lateBytes += window
        // For its trailers.
        lateFrames += 1
    }

    /// Counts a frame for a stream that has been reset.
    ///
    /// - Returns: false if there are more late frames than can have been in transit.
    mutating func takeLate(_ header: HTTP2FrameHeader) -> Bool {
        if header.type == .data { lateBytes -= max(1, header.length) } else { lateFrames -= 1 }
        return lateBytes >= 0 && lateFrames >= 0
    }

    private mutating func addWindowUpdates(_ count: Int) { windowUpdates = min(windowUpdates + count, Self.most) }
}

/// A limit on the number of events within a sliding period.
struct RecentCount {
    private let most: Int
    private let period: TimeAmount
    /// A ring of the times of the last events.
    private var times: [NIODeadline] = []
    private var oldest = 0

    init(_ most: Int, within period: TimeAmount) {
        self.most = max(0, most)
        self.period = period
    }

    /// Counts an event.
    ///
    /// - Returns: false if the event exceeds the limit.
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

/// The type of a frame (RFC 9113 §6). Other numbers are extension types or unassigned.
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
