internal import Accounts
internal import Cryptography
internal import Encoding
internal import Logging
internal import Store

/// Grants of sign-ins that failed and may be retried, also at another gateway.
extension AppleGrants {
    /// Removes and returns the token that Apple issued at an earlier attempt of the sign-in; nil if there is none. Of
    /// several callers, one gets it.
    func takeHeld(for proof: [UInt8], requestID: String) async -> Secret? {
        if let given = unused.take(for: proof, now: now()) { return given }
        guard let shared else { return nil }
        do {
            return try await shared.take(.unusedGrant, by: Self.name(of: proof)).map { Secret($0) }
        } catch {
            logger.error(
                "a grant of Apple's that another gateway holds cannot be read",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
            return nil
        }
    }

    /// Holds Apple's token of a sign-in that the gateway could not complete. If the store fails too, the token stays in
    /// memory until it can be stored.
    ///
    /// - Parameter endsAt: when the sign-in can no longer be retried, in seconds since 1970.
    func hold(_ refreshToken: Secret, for proof: [UInt8], until endsAt: Int64, requestID: String) async {
        if await share(UnusedGrants.Held(proof: proof, refreshToken: refreshToken, endsAt: endsAt)) { return }
        guard unused.keep(refreshToken, for: proof, until: endsAt, now: now()) else {
            return logger.error("an Apple refresh token could not be stored", metadata: ["request_id": "\(requestID)"])
        }
        guard shared != nil, unused.beginSharing() else { return }
        // A separate task: the sign-in ends before the store is available again.
        Task { await shareHeld() }
    }

    /// Stores the tokens in memory as soon as possible.
    private func shareHeld() async {
        var pauses = Self.pausesOfSharing
        while unused.goesOnSharing(now: now()) {
            do {
                try await pause(pauses.count > 1 ? pauses.removeFirst() : pauses[0])
            } catch {
                return unused.endSharing()
            }
            for held in unused.all(now: now()) {
                guard await share(held) else { break }
                unused.remove(held)
            }
        }
    }

    private static let pausesOfSharing: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    /// - Returns: whether other gateways can read it.
    private func share(_ held: UnusedGrants.Held) async -> Bool {
        guard let shared else { return false }
        do {
            try await shared.keep(
                held.refreshToken.expose(), .unusedGrant, by: [Self.name(of: held.proof)],
                seconds: held.endsAt - now())
            return true
        } catch {
            logger.warning("a grant of Apple's is stored in memory only", metadata: ["error": "\(error)"])
            return false
        }
    }

    private static func name(of proof: [UInt8]) -> String { Base64URL.encode(proof) }
}
