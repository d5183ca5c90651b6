internal import Synchronization
internal import Upstream

/// What `/readyz` says.
struct ReadinessReport: Equatable {
    /// An upstream whose servers are checked, and which of them are healthy.
    struct CheckedUpstream: Equatable {
        var name: String
        var healthy: [Bool]
    }

    let isReady: Bool
    let text: String

    /// Ready means: not draining, able to verify tokens of every issuer, and with an upstream to serve from. One upstream
    /// of several without a healthy server is told and no more: to take the whole gateway out for it would take the
    /// others' requests with it.
    ///
    /// - Parameter others: whether there are upstreams whose servers are not checked.
    init(isDraining: Bool, keySetsHeld: [Bool], upstreams: [CheckedUpstream], others: Bool) {
        let down = upstreams.filter { !$0.healthy.contains(true) }
        let reason: String? =
            if isDraining {
                "draining"
            } else if keySetsHeld.contains(false) {
                "waiting for key sets"
            } else if !down.isEmpty, down.count == upstreams.count, !others {
                "no upstream has a healthy server"
            } else {
                nil
            }
        isReady = reason == nil
        let lines = [reason ?? "ready"] + down.map { "upstream \($0.name): no healthy server" }
        text = lines.map { $0 + "\n" }.joined()
    }
}

/// Gathers what ``ReadinessReport`` goes by.
final class Readiness: Sendable {
    private let directory: LoopDirectory
    private let isDraining: AtomicFlag
    /// By the upstream's position in the settings.
    private let checked: Mutex<[Int: ReadinessReport.CheckedUpstream]>
    private let others: Bool

    init(_ upstreams: [UpstreamSettings], _ directory: LoopDirectory, _ isDraining: AtomicFlag) {
        self.directory = directory
        self.isDraining = isDraining
        var checked: [Int: ReadinessReport.CheckedUpstream] = [:]
        for (index, upstream) in upstreams.enumerated() where upstream.healthCheck != nil {
            // A server is healthy until it is found not to be.
            checked[index] = .init(name: upstream.name, healthy: upstream.servers.map { _ in true })
        }
        self.others = checked.count < upstreams.count
        self.checked = Mutex(checked)
    }

    /// Notes what a health check has found.
    func found(isHealthy: Bool, server: Int, ofUpstream upstream: Int) {
        checked.withLock { $0[upstream]?.healthy[server] = isHealthy }
    }

    var report: ReadinessReport {
        ReadinessReport(
            isDraining: isDraining.isSet, keySetsHeld: directory.keySetsHeld,
            upstreams: checked.withLock { checked in checked.sorted { $0.key < $1.key }.map(\.value) }, others: others)
    }
}
