package import Pipeline

/// Verifies single tokens outside the event loops, and fetches the keys that they need.
package struct FetchingVerifier: Sendable {
    /// The result of verifying a token.
    package enum Finding: Sendable {
        case verified(VerifiedToken)
        case rejected(RejectReason, [TokenDifference])
        /// Undecided: the keys of the token's issuer could not be fetched.
        case keysUnavailable
    }

    private let verifier: TokenVerifier
    private let services: [KeySetService]

    /// - Parameter services: one for each issuer of the verifier, in its order.
    package init(_ verifier: TokenVerifier, services: [KeySetService]) {
        self.verifier = verifier
        self.services = services
    }

    /// - Parameters:
    ///   - token: without `Bearer`.
    ///   - now: seconds since 1970. The age of a key set is always judged by the present.
    package func examine(_ token: [UInt8], accepting: TokenAcceptance, now: Int64) async -> Finding {
        switch await judge(token, accepting: accepting, now: now) {
        case .verified(let verified): .verified(verified)
        case .rejected(let reason): .rejected(reason, differences(token, accepting, now))
        case .needsKeys: .keysUnavailable
        }
    }

    /// As ``examine(_:accepting:now:)``, without the differences: for tokens that anybody may send.
    ///
    /// - Returns: ``Verdict/needsKeys(issuerIndex:keyID:)`` if the issuer's keys could not be fetched.
    package func judge(_ token: [UInt8], accepting: TokenAcceptance, now: Int64) async -> Verdict {
        var verdict = verify(token, accepting, now)
        if case .needsKeys(let index, let keyID) = verdict {
            // Whatever the result of the fetch, the set that is then current decides.
            _ = await services[index].lookUp(keyID)
            verdict = verify(token, accepting, now)
        }
        guard case .needsKeys(let index, _) = verdict, services[index].currentSet != nil else { return verdict }
        return .rejected(.unknownKey)
    }

    private func verify(_ token: [UInt8], _ accepting: TokenAcceptance, _ now: Int64) -> Verdict {
        verifier.verify(token, accepting: accepting, keys: { services[$0].currentSet }, now: now)
    }

    private func differences(_ token: [UInt8], _ accepting: TokenAcceptance, _ now: Int64) -> [TokenDifference] {
        verifier.differences(of: token, accepting: accepting, keys: { services[$0].currentSet }, now: now)
    }
}
