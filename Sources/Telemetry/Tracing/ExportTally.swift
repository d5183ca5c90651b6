internal import Synchronization

/// The counts of deliveries to a collector.
package struct ExportTallies: Sendable {
    package let spans = ExportTally()
    /// The deliveries of metrics; each delivery counts once.
    package let metrics = ExportTally()

    package init() {}
}

/// The numbers of exported and lost items since the process started.
package final class ExportTally: Sendable {
    private let exportedCount = Atomic(0)
    private let lostCount = Atomic(0)

    package init() {}

    package func exported(_ count: Int) { exportedCount.add(count, ordering: .relaxed) }
    package func lost(_ count: Int) { lostCount.add(count, ordering: .relaxed) }

    package var exported: Int { exportedCount.load(ordering: .relaxed) }
    package var lost: Int { lostCount.load(ordering: .relaxed) }
}
