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
