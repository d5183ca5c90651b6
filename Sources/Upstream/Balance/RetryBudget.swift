/// Keeps retries a bounded part of the requests, so that they cannot finish off a backend that is in trouble.
struct RetryBudget: Sendable {
    /// Each request saves so many hundredths of a retry.
    private let percent: Int
    private var saved: Int

    /// The most that can be saved, in hundredths of a retry: ten retries may come at once.
    private static let most = 10 * 100

    /// - Parameter percent: at most so many retries for 100 requests; 0: none at all.
    init(percent: Int) {
        self.percent = percent
        self.saved = percent > 0 ? Self.most : 0
    }

    mutating func requestBegan() {
        if saved < Self.most { saved = min(saved + percent, Self.most) }
    }

    /// Pays for a retry, if there is enough for one.
    mutating func takeRetry() -> Bool {
        guard saved >= 100 else { return false }
        saved -= 100
        return true
    }
}
