package import Pipeline
internal import Synchronization

/// An upstream with unchanged settings. Its pools survive reloads that do not change its settings.
package struct ServedUpstream: Sendable {
    /// A number that is unique within the process.
    package let number: UInt64
    package let settings: UpstreamSettings
    /// The indices of servers that were already known to be unhealthy when this value was created.
    package let knownUnhealthy: [Int]

    package init(number: UInt64, settings: UpstreamSettings, knownUnhealthy: [Int]) {
        self.number = number
        self.settings = settings
        self.knownUnhealthy = knownUnhealthy
    }
}

/// The generator of ``ServedUpstream/number``.
package enum UpstreamNumber {
    private static let last = Atomic<UInt64>(0)

    package static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
