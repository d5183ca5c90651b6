/// The writes that run or wait for others, as far as they tell whether to wait with them.
struct WritesUnderWay: Sendable {
    /// How long writes may make no progress before reads go another way.
    static let patience = Duration.milliseconds(50)

    private var count = 0
    /// When one of them ended last, or the first of them began.
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

    /// Whether there is one that the disk, or another process, may keep waiting.
    ///
    /// - Parameter patience: how long none of them may have ended.
    func areStuck(at now: ContinuousClock.Instant, for patience: Duration = Self.patience) -> Bool {
        count > 0 && now - progress > patience
    }
}
