internal import Cryptography
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// Asks Apple about once a day for each consent whether the user has withdrawn it; if so, the user's sessions end.
///
/// A round validates up to ``perRound`` consents, 172 800 a day. If there are more, those validated longest ago come
/// first.
package final class AppleGrantValidation: Sendable {
    /// One day, in seconds.
    private static let interval: Int64 = 86_400
    private static let roundLength: Duration = .seconds(60)
    /// After how many seconds a consent is validated again if the gateway fails to do so.
    private static let pause: Int64 = 600
    static let perRound = 120
    private static let atOnce = 4
    private static let requestID = "apple-validation"

    private let grants: AppleGrants
    private let sessions: UserSessions

    package init(_ grants: AppleGrants, _ sessions: UserSessions) {
        self.grants = grants
        self.sessions = sessions
    }

    /// Runs until cancelled.
    package func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Self.roundLength)
            } catch {
                return
            }
            await round()
        }
    }

    /// Validates the consents that are due.
    func round() async {
        do {
            let now = grants.now()
            let due = try await grants.records.claimAppleTokens(
                validatedBefore: now - Self.interval, pause: Self.pause, now: now, limit: Self.perRound)
            for start in stride(from: 0, to: due.count, by: Self.atOnce) where !Task.isCancelled {
                await withTaskGroup(of: Void.self) { tasks in
                    for record in due[start..<min(start + Self.atOnce, due.count)] {
                        tasks.addTask { await self.validate(record) }
                    }
                }
            }
        } catch {
            guard !Task.isCancelled else { return }
            grants.logger.error("Apple's refresh tokens cannot be read", metadata: ["error": "\(error)"])
        }
    }

    /// A consent whose state could not be determined is validated again a day later.
    private func validate(_ record: AppleTokenRecord) async {
        let opened = try? SealedAppleToken.open(
            record.token, userID: record.userID, clientID: record.clientID, with: grants.sealingKeys)
        guard let token = opened else {
            // A gateway that has the key validates it, or this one once it has read the key.
            guard !grants.sealingKeys.lacksKey(of: Secret(record.token)) else {
                grants.logger.warning("an Apple refresh token is sealed with an unknown key and not validated yet")
                return
            }
            grants.logger.error("an Apple refresh token cannot be unsealed and is not validated")
            return await grants.noteValidated(record, nil)
        }
        do {
            // Apple's response does not apply to sessions that begin during the call.
            let open = try await sessions.records.sessions(of: record.userID).filter { $0.endedAt == nil }
            if try await isGood(token, record) {
                await grants.noteValidated(record, token)
            } else {
                try await endConsent(record, open)
            }
        } catch {
            // Claimed consents become due again.
            guard !Task.isCancelled else { return }
            grants.logger.error(
                "sessions without consent continue until the next check", metadata: ["error": "\(error)"])
        }
    }

    /// Whether the token is valid, as far as Apple has responded.
    ///
    /// - Throws: if the task was cancelled and the result is therefore unknown.
    private func isGood(_ token: Secret, _ record: AppleTokenRecord) async throws -> Bool {
        do throws(AppleClientError) {
            try await grants.client.validate(refreshToken: token, clientID: record.clientID)
        } catch {
            guard !Task.isCancelled else { throw error }
            guard error.kind == .invalidGrant else {
                grants.report(error, "a refresh token of Apple's could not be validated")
                return true
            }
            return false
        }
        return true
    }

    /// Ends the sessions first: the token is validated again as long as it is stored. If a sign-in has brought another
    /// token meanwhile, that is a separate consent, and nothing ends.
    private func endConsent(_ record: AppleTokenRecord, _ open: [UserSessionRecord]) async throws {
        let stored = try await grants.records.appleTokens(of: record.userID)
        guard stored.contains(where: { $0.clientID == record.clientID && $0.token == record.token }) else { return }
        try await sessions.end(open, requestID: Self.requestID)
        grants.logger.info(
            "a user withdrew the consent to Sign in with Apple", metadata: ["sessions": .stringConvertible(open.count)])
        try await grants.records.remove(record)
    }
}
