internal import Store

/// The contents of `/readyz`.
package struct ReadinessReport: Equatable {
    /// An upstream with health checks, and the health of each of its servers.
    struct CheckedUpstream: Equatable {
        var name: String
        var healthy: [Bool]
    }

    /// The store of the gateway.
    struct Store: Equatable {
        /// The error that prevents writes, without file names; nil if the store can be written.
        var error: String?
        /// Whether requests of clients need writes.
        var isNeeded: Bool
        /// Whether several gateways share the store. Then a failure makes none of them unready: otherwise all would
        /// become unready at once, along with everything that works without the database.
        var isShared = false
    }

    /// The list of revocations that several gateways share.
    struct SharedList: Equatable {
        /// The seconds since the list was last known to be complete.
        var age: Int64
        /// Whether the list is so old that no token is accepted.
        var isTooOld: Bool

        /// The age in seconds from which it is reported. The list is read at least every second.
        static let toldAge: Int64 = 5
    }

    /// A user pool whose tokens the gateway refuses.
    struct RefusedSignIn: Equatable {
        /// The name of the pool's issuer.
        var issuer: String
        var text: String
    }

    /// A name whose certificate has not been obtained yet.
    struct AwaitedCertificate: Equatable {
        var name: String
        /// The error of the last attempt; nil if there is none.
        var error: String?
    }

    let isReady: Bool
    let text: String

    /// Ready means: not draining, able to verify tokens of every issuer, able to write to a store that sign-ins need
    /// and that is not shared, and with at least one available upstream. The following is only reported, because other
    /// requests still work: an upstream without a healthy server while others have one, a store that no sign-in needs
    /// or that is shared, and a pool whose tokens are refused. A missing certificate is only reported as well, because
    /// ACME validation may reach the gateway through the load balancer, which would exclude an unready gateway.
    ///
    /// - Parameters:
    ///   - others: whether there are upstreams without health checks.
    ///   - list: the shared revocation list; nil if the state is not shared.
    init(
        isDraining: Bool, keySetsHeld: [Bool], upstreams: [CheckedUpstream], others: Bool, store: Store?,
        list: SharedList? = nil, refusedSignIns: [RefusedSignIn] = [],
        awaitedCertificates: [AwaitedCertificate] = []
    ) {
        let down = upstreams.filter { !$0.healthy.contains(true) }
        let reason: String? =
            if isDraining {
                "draining"
            } else if keySetsHeld.contains(false) {
                "waiting for key sets"
            } else if let store, store.isNeeded, !store.isShared, store.error != nil {
                "the store cannot be written"
            } else if !down.isEmpty, down.count == upstreams.count, !others {
                "no upstream has a healthy server"
            } else {
                nil
            }
        isReady = reason == nil
        let stored = (store?.error).map { ["store: \($0)"] } ?? []
        let lines =
            [reason ?? "ready"] + stored + (list?.lines ?? []) + down.map { "upstream \($0.name): no healthy server" }
            + refusedSignIns.map { "sign-in at \($0.issuer): the gateway refuses its tokens: \($0.text)" }
            + awaitedCertificates.map { awaited in
                "certificate of \(awaited.name): none yet\(awaited.error.map { ": \($0)" } ?? "")"
            }
        text = lines.map { $0 + "\n" }.joined()
    }
}

extension ReadinessReport.SharedList {
    fileprivate var lines: [String] {
        guard isTooOld || age >= Self.toldAge else { return [] }
        return ["revocations: the list is \(age) s old\(isTooOld ? ", no token is accepted" : "")"]
    }
}
