package import Pipeline
internal import Synchronization

/// An upstream for as long as its settings stay as they are: through reloads that leave them alone it keeps its pools.
package struct ServedUpstream: Sendable {
    /// No two of a process share it.
    package let number: UInt64
    package let settings: UpstreamSettings
    /// The servers that health checks had found unwell already when it was made.
    package let knownUnhealthy: [Int]

    package init(number: UInt64, settings: UpstreamSettings, knownUnhealthy: [Int]) {
        self.number = number
        self.settings = settings
        self.knownUnhealthy = knownUnhealthy
    }
}

/// Numbers for ``ServedUpstream/number``.
package enum UpstreamNumber {
    private static let last = Atomic<UInt64>(0)

    package static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
