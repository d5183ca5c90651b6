/// A limit on the proportion of retries, so that they cannot overload a backend that is in trouble.
struct RetryBudget: Sendable {
    /// The hundredths of a retry that each request adds.
    private let percent: Int
    private var saved: Int

    /// The maximum of the budget, in hundredths of a retry: ten retries may occur at once.
    private static let most = 10 * 100

    /// - Parameter percent: the number of retries per 100 requests; 0: no retries.
    init(percent: Int) {
        self.percent = percent
        self.saved = percent > 0 ? Self.most : 0
    }

    mutating func requestBegan() {
        if saved < Self.most { saved = min(saved + percent, Self.most) }
    }

    /// Takes a retry from the budget. Returns false if there is not enough for one.
    mutating func takeRetry() -> Bool {
        guard saved >= 100 else { return false }
        saved -= 100
        return true
    }
}
