internal import NIOCore

/// The phases of an HTTP/2 connection, and until when each may last.
struct HTTP2ConnectionLife {
    enum Phase {
        case open
        /// The first GOAWAY is out, which refuses nothing yet; when the PING behind it has come back, the client
        /// knows that it is to open no more streams (RFC 9113 §6.8).
        case announced
        /// The second GOAWAY is out. Requests that have begun are finished.
        case closing
        /// Nothing more is sent; input is read and thrown away for a little, so that no reset overtakes the GOAWAY.
        case ended
    }

    /// The connection's next step, when its deadline has passed.
    enum Step { case rest, refuseMore, close }

    private(set) var phase = Phase.open
    /// The client has sent GOAWAY.
    var clientLeaves = false
    private let keepAlive: TimeAmount
    private var latest = NIODeadline.distantFuture
    private var lingering = Lingering()
    /// It is idle, and has forgotten what requests had in common.
    private var isResting = true

    /// How long a connection that has nothing more for its client may last, whatever keeps it from being closed.
    private static let farewell = TimeAmount.seconds(2)
    private static let announcement = TimeAmount.seconds(1)

    /// - Parameter keepAlive: how long it may be idle.
    init(keepAlive: TimeAmount) {
        self.keepAlive = keepAlive
    }

    var deadline: NIODeadline { min(latest, lingering.deadline) }

    /// Whether the client's GOAWAY is to be followed by this side's.
    var isToRefuseMore: Bool { clientLeaves && (phase == .open || phase == .announced) }

    /// Since when the connection has been idle, if it has no streams; nil when it is not open any more.
    var idleSince: NIODeadline? {
        phase == .open ? latest - (isResting ? keepAlive : briefWait) : nil
    }

    /// How long a connection on which nothing happens remembers what its requests had in common.
    private var briefWait: TimeAmount { min(.seconds(2), keepAlive) }

    mutating func begin(at now: NIODeadline) { latest = now + keepAlive }

    mutating func streamOpened() {
        if phase == .open { latest = .distantFuture }
    }

    /// No stream is left.
    ///
    /// - Returns: whether the connection is to end.
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

    /// All has been written, and a slow client gets time to take it.
    mutating func end(at now: NIODeadline) {
        phase = .ended
        latest = now + keepAlive
    }

    /// All has been sent. Input is thrown away from now on.
    mutating func linger(at now: NIODeadline) {
        latest = .distantFuture
        lingering.begin(at: now)
    }

    /// Bytes came after the end.
    ///
    /// - Returns: whether more may come.
    mutating func threwAway(_ count: Int, at now: NIODeadline) -> Bool { lingering.received(count, at: now) }

    /// An idle connection is closed.
    mutating func close(at now: NIODeadline) {
        phase = .ended
        latest = now + Self.farewell
    }

    /// The client has gone.
    mutating func wasLost() { phase = .ended }
}
