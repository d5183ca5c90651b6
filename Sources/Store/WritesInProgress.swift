/// The writes that run or wait, tracked to decide whether to wait with them.
struct WritesInProgress: Sendable {
    /// How long writes may make no progress before reads use another connection.
    static let patience = Duration.milliseconds(50)

    private var count = 0
    /// When the last of them ended, or the first of them began.
    private var progress: ContinuousClock.Instant

    init(at now: ContinuousClock.Instant) {
        progress = now
    }

    mutating func begin(at now: ContinuousClock.Instant) {
        if count == 0 { progress = now }
        count += 1
    }

    mutating func end(at now: ContinuousClock.Instant) {
        count -= 1
        progress = now
    }

    /// Whether the disk, or another process, may be blocking a write.
    ///
    /// - Parameter patience: how long no write may have ended.
    func areStuck(at now: ContinuousClock.Instant, for patience: Duration = Self.patience) -> Bool {
        count > 0 && now - progress > patience
    }
}
