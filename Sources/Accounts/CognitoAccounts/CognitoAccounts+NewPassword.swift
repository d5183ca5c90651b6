internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline
internal import Store

/// The end of a user's other sessions after a password change: anybody who knew the old password may have one.
extension CognitoAccounts {
    /// Ends all sessions of a user except one. Sign-ins without a session record, such as those of translated calls,
    /// end by the revocation list: it refuses their access tokens, and refreshes through the gateway.
    ///
    /// The list is written first, then the records, then Cognito is called. A failed call can be repeated. Failures at
    /// Cognito are only logged, since nobody else has the refresh tokens of these sessions.
    ///
    /// - Parameter own: the `origin_jti` of the session that continues; nil: all end.
    func endSessions(of subject: String, sparing own: String?, _ request: AccountRequest) async throws(Refusal) {
        guard settings.passwordChanges.endsOtherSessions else { return }
        // A separate task: a client that disconnects must not interrupt the work.
        let ending = Task { () async -> Result<Void, Refusal> in
            do throws(Refusal) {
                return .success(try await endNow(of: subject, sparing: own, request))
            } catch {
                return .failure(error)
            }
        }
        try await ending.value.get()
    }

    /// - Parameter latest: the latest sign-in time to end, in seconds since 1970; nil: all sign-ins end.
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

    /// Returns the family of the recorded session that continues; nil if none does.
    private func family(
        of subject: String, _ own: String?, _ request: AccountRequest
    ) async throws(Refusal) -> [UInt8]? {
        guard let own else { return nil }
        let stored = try await withRecords(request) { try await sessions.openSessions(of: subject) }
        return stored.first { $0.originID?.hasSameBytes(as: own) == true }?.family
    }

    /// Revokes earlier sign-ins until their last token has expired. A sign-in in the current second is not affected,
    /// except those in the records, which are revoked one by one.
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
        // The session's app client is no longer configured.
        guard let app = poolClient(session.clientID) else {
            throw Refusal(.serviceUnavailable, reason: .cognito(.clientUnknown))
        }
        try await revokeAtCognito(session.refreshToken, of: app, request)
    }

    /// Ends the other sessions of a user who has set a new password during a sign-in. The sign-in continues in any
    /// case: the step that has set the password cannot be repeated.
    ///
    /// - Parameters:
    ///   - claims: of the new access token; nil if another challenge follows.
    ///   - names: the user's names: the typed one, and Cognito's internal ones.
    /// - Returns: whether the sessions have ended.
    func endSessions(
        before claims: JSONObject?, named names: [String], requestID: String
    ) async -> Bool {
        do throws(Refusal) {
            try await endSessions(named: names, claims: claims, requestID: requestID)
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
    ///   - names: the user's names, for calls without an access token.
    ///   - claims: of the call's access token.
    func endSessions(
        named names: [String], claims: JSONObject?, requestID: String
    ) async throws(Refusal) {
        let request = AccountRequest(operation: .resetPassword, requestID: requestID, clientAddress: "")
        if let subject = claims?["sub"]?.stringValue {
            return try await endSessions(of: subject, sparing: claims?["origin_jti"]?.stringValue, request)
        }
        guard !names.isEmpty else { return }
        for subject in try await subjects(named: names, request) {
            try await endSessions(of: subject, sparing: nil, request)
        }
    }

    /// Returns the users who have signed in or refreshed under these names, in any letter case. A name without users is
    /// logged, since sessions that the gateway has never seen under it continue.
    func subjects(named names: [String], _ request: AccountRequest) async throws(Refusal) -> [String] {
        guard settings.passwordChanges.endsOtherSessions else { return [] }
        let known = try await knownSubjects(named: names, request)
        guard known.isEmpty else { return known }
        logger.notice(
            "a password was set under a name that nobody has signed in with, so no session was ended",
            metadata: ["request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)"])
        return []
    }

    func knownSubjects(named names: [String], _ request: AccountRequest) async throws(Refusal) -> [String] {
        try await withRecords(request) {
            var subjects: [String] = []
            for name in names {
                for subject in try await flow.accountGuard.subjects(named: name, poolID: settings.poolID)
                where !subjects.contains(where: { $0.hasSameBytes(as: subject) }) { subjects.append(subject) }
            }
            return subjects
        }
    }

    /// Returns whether a user's sign-ins up to a time are revoked.
    ///
    /// - Parameters:
    ///   - time: by this gateway's clock, in seconds since 1970.
    ///   - claims: of a later access token of the user.
    func haveEnded(signInsUntil time: Int64, of claims: JSONObject) -> Bool {
        var claims = claims
        // The token's times are by Cognito's clock.
        claims["auth_time"] = .number(JSONNumber(time))
        claims["iat"] = nil
        return isOnRevocationList(claims)
    }

    /// Returns whether the revocation list has tokens with these claims. The claims must come from Cognito.
    func isOnRevocationList(_ claims: JSONObject?) -> Bool {
        guard let claims, let subject = claims["sub"]?.stringValue else { return false }
        return isRevoked(
            VerifiedToken(
                issuer: settings.issuer, issuerName: "", subject: subject, tokenUse: .access,
                clientID: settings.clientID, expires: 0, issuedAt: claims["iat"]?.integerValue, claims: claims,
                keyID: ""))
    }
}
