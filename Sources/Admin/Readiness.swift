internal import Store

/// The contents of `/readyz`.
package struct ReadinessReport: Equatable {
    /// An upstream whose servers are checked, and which of them are healthy.
    struct CheckedUpstream: Equatable {
        var name: String
        var healthy: [Bool]
    }

    /// The database, where there is one.
    struct Store: Equatable {
        /// Why it can't be written; names no file. Nil: it can.
        var error: String?
        /// Whether what clients ask for takes writing.
        var isNeeded: Bool
        /// Whether several gateways share it. Then none is unready for it: all would be at once, and with them what
        /// works without the database.
        var isShared = false
    }

    /// The list of revocations that several gateways share.
    struct SharedList: Equatable {
        /// Seconds since it was last known to be complete.
        var age: Int64
        /// Whether it is so old that no token is accepted.
        var isTooOld: Bool

        /// The age in seconds from which it is told of. A list is read at least every second.
        static let toldAge: Int64 = 5
    }

    /// A pool whose tokens the gateway refuses.
    struct RefusedSignIn: Equatable {
        /// The name of its issuer.
        var issuer: String
        var text: String
    }

    /// A name without a certificate that is to be obtained.
    struct AwaitedCertificate: Equatable {
        var name: String
        /// Why the last attempt failed.
        var error: String?
    }

    let isReady: Bool
    let text: String

    /// Ready means: not draining, able to verify tokens of every issuer, able to write where sign-ins take that, and
    /// with an upstream to serve from. One upstream of several without a healthy server is told and no more: to take
    /// the whole gateway out for it would take the others' requests with it. So are a store that no sign-in needs, and a
    /// pool whose tokens are refused: public routes and other pools work. A certificate that is missing is told and no
    /// more as well: the directory reaches the gateway through the balancer that would leave it out.
    ///
    /// - Parameters:
    ///   - others: whether there are upstreams whose servers are not checked.
    ///   - list: nil where there is one process.
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
