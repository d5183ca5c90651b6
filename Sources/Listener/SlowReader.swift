internal import NIOCore

/// How long a client may take nothing of its response, which must not keep a backend's connection for ever.
struct SlowReader {
    private let patience: TimeAmount
    /// When it must have taken some; far away while it keeps up.
    private(set) var deadline = NIODeadline.distantFuture
    /// What waited for it when the deadline was set.
    private var unsentBytes = 0

    init(patience: TimeAmount) {
        self.patience = patience
    }

    /// It is waited for no longer.
    mutating func stopWaiting() {
        deadline = .distantFuture
    }

    mutating func writabilityChanged(of channel: any Channel, at now: NIODeadline) {
        deadline = channel.isWritable ? .distantFuture : now + patience
        unsentBytes = Self.unsentBytes(of: channel)
    }

    /// The deadline has passed: whether the client took some of what waited, so that it gets as long again.
    mutating func hasTakenSome(of channel: any Channel, at now: NIODeadline) -> Bool {
        let unsent = Self.unsentBytes(of: channel)
        guard unsent < unsentBytes else { return false }
        unsentBytes = unsent
        deadline = now + patience
        return true
    }

    /// Bytes that were written and have not left yet.
    static func unsentBytes(of channel: any Channel) -> Int {
        (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
