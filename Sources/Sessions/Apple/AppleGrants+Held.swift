internal import Accounts
internal import Cryptography
internal import Encoding
internal import Logging
internal import Store

/// Grants for sign-ins that could not be carried out and may be tried again, at another gateway too.
extension AppleGrants {
    /// The token that Apple gave when the sign-in was tried before; nil where it was not. Of several callers one gets it.
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

    /// Holds what Apple gave for a sign-in that the gateway could not carry out. Where it cannot be stored either, it is
    /// in memory until it can.
    ///
    /// - Parameter endsAt: when the sign-in can be tried no more, in seconds since 1970.
    func hold(_ refreshToken: Secret, for proof: [UInt8], until endsAt: Int64, requestID: String) async {
        if await share(UnusedGrants.Held(proof: proof, refreshToken: refreshToken, endsAt: endsAt)) { return }
        guard unused.keep(refreshToken, for: proof, until: endsAt, now: now()) else {
            return logger.error("an Apple refresh token could not be stored", metadata: ["request_id": "\(requestID)"])
        }
        guard shared != nil, unused.beginSharing() else { return }
        // Of its own: the sign-in ends before the store is back.
        Task { await shareHeld() }
    }

    /// Stores what is in memory, as soon as it can be.
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

    /// - Returns: whether other gateways have it.
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
