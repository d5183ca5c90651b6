internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline
internal import Store

/// The end of a user's other sessions when the password is another one: whoever knew the old one may have a session.
extension CognitoAccounts {
    /// Ends all sessions of a user but one. Sign-ins that the session records do not have, as those of translated calls,
    /// end by the revocation list: it refuses their access tokens, and refreshes through the gateway.
    ///
    /// The list comes first, then the records, then Cognito. A call that fails can be repeated. Failures at Cognito are
    /// in the log only, since nobody else has the refresh tokens of these sessions.
    ///
    /// - Parameter own: the `origin_jti` of the session that goes on; nil: none does.
    func endSessions(of subject: String, sparing own: String?, _ request: AccountRequest) async throws(Refusal) {
        guard settings.passwordChanges.endsOtherSessions else { return }
        // In a task of its own: the caller's hanging up must not leave it half-done.
        let ending = Task { () async -> Result<Void, Refusal> in
            do throws(Refusal) {
                return .success(try await endNow(of: subject, sparing: own, request))
            } catch {
                return .failure(error)
            }
        }
        try await ending.value.get()
    }

    /// - Parameter latest: until when sign-ins are meant, in seconds since 1970; nil: all are.
    func endNow(
        of subject: String, sparing own: String?, signedInUntil latest: Int64? = nil, _ request: AccountRequest
    ) async throws(Refusal) {
        let family = try await family(of: subject, own, request)
        var ended: [RefreshSessions.Ended] = []
        try await both { () async throws(Refusal) in
            try await revokeOthers(of: subject, sparing: own, signedInUntil: latest, request)
        } then: { () async throws(Refusal) in
            ended = try await withRecords(request) {
                try await sessions.endAll(of: subject, except: family, signedInUntil: latest)
            }
        }
        let origins = Set(ended.compactMap(\.originID)).subtracting([own].compactMap { $0 })
        let newest = ended.map(\.signedInAt).max()
        try await revoke(targets(for: origins, of: subject, signedInUntil: newest, sparing: own), request)
        var failures = 0
        for session in ended {
            do throws(Refusal) {
                try await endAtCognito(session, request)
            } catch {
                failures += 1
            }
        }
        guard failures > 0 else { return }
        logger.warning(
            "sessions that ended with a new password continue at Cognito",
            metadata: [
                "request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)",
                "sessions": .stringConvertible(failures),
            ])
    }

    /// The session of the records that goes on; nil where none does.
    private func family(
        of subject: String, _ own: String?, _ request: AccountRequest
    ) async throws(Refusal) -> [UInt8]? {
        guard let own else { return nil }
        let stored = try await withRecords(request) { try await sessions.openSessions(of: subject) }
        return stored.first { $0.originID?.hasSameBytes(as: own) == true }?.family
    }

    /// Until the last token of an earlier sign-in has ended. A sign-in in this very second is not meant, except those of
    /// the records, which are named one by one.
    private func revokeOthers(
        of subject: String, sparing own: String?, signedInUntil latest: Int64?, _ request: AccountRequest
    ) async throws(Refusal) {
        let now = revocationTime()
        let before = min(latest ?? .max, now - 1)
        let target: Revocation.Target =
            own.map { .otherSignIns(subject, before: before, sparing: $0) } ?? .subject(subject, before: before)
        let lifetime = max(CognitoSignInSettings.longestAccessToken, settings.refreshLifetime + 60)
        try await revoke([target], until: now + lifetime, request)
    }

    private func endAtCognito(_ session: RefreshSessions.Ended, _ request: AccountRequest) async throws(Refusal) {
        // Of a client that is configured no more.
        guard let app = poolClient(session.clientID) else {
            throw Refusal(.serviceUnavailable, reason: .cognito(.clientUnknown))
        }
        try await revokeAtCognito(session.refreshToken, of: app, request)
    }

    /// Ends the other sessions of a user who has set a new password during a sign-in. The sign-in goes on in any case:
    /// the step that has set the password cannot be repeated.
    ///
    /// - Parameters:
    ///   - claims: of the new access token; nil where another challenge follows.
    ///   - name: for sign-in.
    /// - Returns: whether they have ended.
    func endSessions(
        before claims: JSONObject?, named name: String?, requestID: String
    ) async -> Bool {
        do throws(Refusal) {
            try await endSessions(named: name, claims: claims, requestID: requestID)
            return true
        } catch {
            logger.error(
                "the other sessions of a user with a new password could not be ended",
                metadata: [
                    "request_id": "\(requestID)", "pool_id": "\(settings.poolID)", "error": "\(error.reason.code)",
                ])
            return false
        }
    }

    /// Ends the other sessions after a direct call has set a new password.
    ///
    /// - Parameters:
    ///   - name: for sign-in, where the call has no access token.
    ///   - claims: of the call's access token.
    func endSessions(
        named name: String?, claims: JSONObject?, requestID: String
    ) async throws(Refusal) {
        let request = AccountRequest(operation: .resetPassword, requestID: requestID, clientAddress: "")
        if let subject = claims?["sub"]?.stringValue {
            return try await endSessions(of: subject, sparing: claims?["origin_jti"]?.stringValue, request)
        }
        guard let name else { return }
        for subject in try await subjects(named: name, request) {
            try await endSessions(of: subject, sparing: nil, request)
        }
    }

    /// The users who have signed in or refreshed by this name, in any case. The log tells where nobody has, since
    /// sessions that the gateway has never seen by this name go on.
    func subjects(named name: String, _ request: AccountRequest) async throws(Refusal) -> [String] {
        guard settings.passwordChanges.endsOtherSessions else { return [] }
        let known = try await knownSubjects(named: name, request)
        guard known.isEmpty else { return known }
        logger.notice(
            "a password was set under a name that nobody has signed in with, so no session was ended",
            metadata: ["request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)"])
        return []
    }

    func knownSubjects(named name: String, _ request: AccountRequest) async throws(Refusal) -> [String] {
        try await withRecords(request) {
            try await flow.accountGuard.subjects(named: name, poolID: settings.poolID)
        }
    }

    /// Whether the sign-ins of a user up to a time have ended.
    ///
    /// - Parameters:
    ///   - time: by this gateway's clock, in seconds since 1970.
    ///   - claims: of a later access token of the user's.
    func haveEnded(signInsUntil time: Int64, of claims: JSONObject) -> Bool {
        var claims = claims
        // The times of the token are by Cognito's clock.
        claims["auth_time"] = .number(JSONNumber(time))
        claims["iat"] = nil
        return isOnRevocationList(claims)
    }

    /// Whether the revocation list has tokens with these claims. Cognito has given them.
    func isOnRevocationList(_ claims: JSONObject?) -> Bool {
        guard let claims, let subject = claims["sub"]?.stringValue else { return false }
        return isRevoked(
            VerifiedToken(
                issuer: settings.issuer, issuerName: "", subject: subject, tokenUse: .access,
                clientID: settings.clientID, expires: 0, issuedAt: claims["iat"]?.integerValue, claims: claims,
                keyID: ""))
    }
}
