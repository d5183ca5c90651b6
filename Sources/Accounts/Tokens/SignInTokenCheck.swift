package import Cryptography
internal import Locking
package import Logging
package import Pipeline

/// Verifies the first token that a pool issues at a sign-in in the way that the gateway will verify it in requests.
///
/// A pool whose `iss` or app client differs from the settings issues tokens to everybody, and the gateway then refuses
/// every request with one. Only the gateway can see the difference, so it reports it. Tokens are verified until one is
/// accepted: after a correction of the pool, the gateway needs no restart.
package final class SignInTokenCheck: Sendable {
    /// The verdict on a token.
    package enum Verdict: Sendable {
        case accepted
        case refused(RejectReason, [TokenDifference])
        /// The keys for the verification are not available.
        case undecided
    }

    /// The last verdict, if it refuses the pool's tokens.
    package struct Refusal: Sendable {
        package let reason: RejectReason
        /// Empty if no claim differs, as with a wrong signature.
        package let differences: [TokenDifference]

        /// A text such as `unknown-issuer: iss: expected "…", got "…"; client_id: …`
        package var text: String {
            let points = differences.map(\.description).joined(separator: "; ")
            return reason.rawValue + (points.isEmpty ? "" : ": \(points)")
        }
    }

    private enum State {
        case awaiting(Refusal?)
        case judging(Refusal?)
        case accepted

        var refusal: Refusal? {
            switch self {
            case .awaiting(let refusal), .judging(let refusal): refusal
            case .accepted: nil
            }
        }
    }

    /// The name of the pool's issuer in the settings.
    package let issuer: String
    package let clientID: String
    private let judge: @Sendable (_ token: Secret) async -> Verdict
    private let logger: Logger
    private let state = Locked(State.awaiting(nil))

    /// - Parameter judge: returns the gateway's verdict on an access token.
    package init(
        issuer: String, clientID: String, logger: Logger, judge: @escaping @Sendable (_ token: Secret) async -> Verdict
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.logger = logger
        self.judge = judge
    }

    /// The reason why the pool's tokens are refused; nil if one was accepted, or none has been verified.
    package var refusal: Refusal? { state.withLock { $0.refusal } }

    /// Verifies the token without delaying its call.
    ///
    /// - Returns: the task that verifies it; nil if none is needed.
    @discardableResult
    func note(_ token: Secret) -> Task<Void, Never>? {
        guard begin() else { return nil }
        return Task { end(await judge(token)) }
    }

    /// Returns whether to verify a token: one at a time, and none after an accepted one.
    private func begin() -> Bool {
        state.withLock { state in
            guard case .awaiting(let refusal) = state else { return false }
            state = .judging(refusal)
            return true
        }
    }

    private func end(_ verdict: Verdict) {
        let previous = state.withLock { state in
            let previous = state.refusal
            state =
                switch verdict {
                case .accepted: .accepted
                case .refused(let reason, let differences): .awaiting(Refusal(reason: reason, differences: differences))
                case .undecided: .awaiting(previous)
                }
            return previous
        }
        switch verdict {
        case .accepted:
            if previous != nil {
                logger.notice("the pool's tokens are accepted now", metadata: ["issuer": "\(issuer)"])
            }
        case .refused(let reason, let differences):
            guard previous?.reason != reason else { return }
            logger.error(
                "the gateway refuses the tokens of its own sign-in",
                metadata: [
                    "issuer": "\(issuer)", "client_id": "\(clientID)", "reason": "\(reason.rawValue)",
                    "differences": "\(differences.map(\.description).joined(separator: "; "))",
                ])
        case .undecided: break
        }
    }
}
