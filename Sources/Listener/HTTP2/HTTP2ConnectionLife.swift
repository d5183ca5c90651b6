internal import NIOCore

/// The phases of an HTTP/2 connection and their deadlines.
struct HTTP2ConnectionLife {
    enum Phase {
        case open
        /// The first GOAWAY has been sent, which refuses nothing yet. When the PING after it has returned, the client
        /// knows that it must open no more streams (RFC 9113 §6.8).
        case announced
        /// The second GOAWAY has been sent. Requests that have begun are finished.
        case closing
        /// Nothing more is sent. Input is discarded for a while, so that no reset overtakes the GOAWAY.
        case ended
    }

    /// The connection's next step after its deadline.
    enum Step { case rest, refuseMore, close }

    private(set) var phase = Phase.open
    /// Whether the client has sent GOAWAY.
    var clientLeaves = false
    private let keepAlive: TimeAmount
    private var latest = NIODeadline.distantFuture
    private var lingering = Lingering()
    /// Whether the connection is idle and has discarded the cached fields of its requests.
    private var isResting = true

    /// The longest time that a connection may stay open once the gateway has nothing more to send.
    private static let farewell = TimeAmount.seconds(2)
    private static let announcement = TimeAmount.seconds(1)

    /// - Parameter keepAlive: the idle timeout.
    init(keepAlive: TimeAmount) {
        self.keepAlive = keepAlive
    }

    var deadline: NIODeadline { min(latest, lingering.deadline) }

    /// Whether the client has sent GOAWAY and this side must still send its own.
    var isToRefuseMore: Bool { clientLeaves && (phase == .open || phase == .announced) }

    /// The time since which the connection has been idle, provided that it has no streams; nil if it is no longer open.
    var idleSince: NIODeadline? {
        phase == .open ? latest - (isResting ? keepAlive : briefWait) : nil
    }

    /// How long an idle connection keeps the cached fields of its requests.
    private var briefWait: TimeAmount { min(.seconds(2), keepAlive) }

    mutating func begin(at now: NIODeadline) { latest = now + keepAlive }

    mutating func streamOpened() {
        if phase == .open { latest = .distantFuture }
    }

    /// Called when the last stream has closed.
    ///
    /// - Returns: whether the connection must end.
    mutating func streamsAreGone(at now: NIODeadline) -> Bool {
        if phase == .open {
            latest = now + briefWait
            isResting = briefWait == keepAlive
        }
        return phase == .closing
    }

    mutating func deadlinePassed() -> Step? {
        switch phase {
        case .open where !isResting:
            isResting = true
            latest = latest + (keepAlive - briefWait)
            return .rest
        case .open, .announced: return .refuseMore
        case .closing: return nil
        case .ended: return .close
        }
    }

    // MARK: Ends

    mutating func announce(at now: NIODeadline) {
        phase = .announced
        latest = now + Self.announcement
    }

    mutating func refuseMore() {
        phase = .closing
        latest = .distantFuture
    }

    /// Ends the connection: everything has been written, and a slow client gets time to take it.
    mutating func end(at now: NIODeadline) {
        phase = .ended
        latest = now + keepAlive
    }

    /// Called when everything has been sent. Input is discarded for a limited time from now on.
    mutating func linger(at now: NIODeadline) {
        latest = .distantFuture
        lingering.begin(at: now)
    }

    /// Counts bytes received after the end.
    ///
    /// - Returns: false if the limit of discarded bytes is reached.
    mutating func threwAway(_ count: Int, at now: NIODeadline) -> Bool { lingering.received(count, at: now) }

    /// Closes an idle connection.
    mutating func close(at now: NIODeadline) {
        phase = .ended
        latest = now + Self.farewell
    }

    /// Called when the client has disconnected.
    mutating func wasLost() { phase = .ended }
}
