internal import Encoding
internal import Logging
package import Pipeline
internal import Store

/// The end of sessions.
extension UserSessions {
    /// Ends a session. It is durably revoked first, so that it is invalid even if a later step fails.
    func end(_ sessionID: String, requestID: String) async throws(Refusal) {
        let stored = try await withRecords(requestID) { try await records.session(sessionID) }
        let known = [stored?.session].compactMap { $0 }
        try await revoke(
            try await targets(for: [sessionID], of: stored?.user.id, from: known, requestID), meaning: known, requestID)
        _ = try await withRecords(requestID) { try await records.end(sessionID, at: now()) }
    }

    /// Ends a session that its record shows as open. For old tokens: those of sessions that have ended take no room on the
    /// revocation list.
    func endIfOpen(_ sessionID: String, requestID: String) async throws(Refusal) {
        let stored = try await withRecords(requestID) { try await records.session(sessionID) }
        guard let stored, stored.session.endedAt == nil else { return }
        try await end(sessionID, requestID: requestID)
    }

    /// Completes the end of a session whose token is revoked, since later steps may have failed.
    ///
    /// - Parameter everywhere: whether to complete that of the user's other revoked sessions too. No other session
    ///   ends.
    /// - Throws: 503 while a revocation is not stored.
    func finishEnd(of caller: SessionCaller, everywhere: Bool, requestID: String) async throws(Refusal) {
        guard !revocations.hasUnstored else { throw Self.notRevoked }
        let known = try await withRecords(requestID) {
            everywhere
                ? try await records.sessions(of: caller.userID).filter {
                    $0.id.hasSameBytes(as: caller.sessionID) || isRevoked($0)
                }
                : [try await records.session(caller.sessionID)?.session].compactMap { $0 }
        }
        for session in known where session.endedAt == nil {
            _ = try await withRecords(requestID) { try await records.end(session.id, at: now()) }
        }
    }

    /// Whether the revocation list covers all tokens of a session.
    private func isRevoked(_ session: UserSessionRecord) -> Bool {
        let targets: [Revocation.Target] = [
            .session(session.id), .subject(session.userID, before: session.authTime),
        ]
        return targets.contains { revocations.current.includes(Revocation(issuer: issuer.issuer, $0, endsAt: 0)) }
    }

    private static var notRevoked: Refusal {
        .retryLater(.serviceUnavailable, after: 5, reason: .account(.notRevoked))
    }

    /// Ends a session that has just begun and must not be valid. Its token has been issued to nobody, so the revocation
    /// list needs no entry. Failures are logged.
    func takeBack(_ begun: BegunSession, requestID: String) async {
        // A separate task, so that it completes even if the client disconnects.
        await Task {
            _ = try? await withRecords(requestID) { try await records.end(begun.id, at: now()) }
        }.value
    }

    /// Ends these sessions, but none that have begun since they were read.
    func end(_ sessions: [UserSessionRecord], requestID: String) async throws(Refusal) {
        for session in sessions { try await end(session.id, requestID: requestID) }
    }

    /// Ends these sessions of the caller's user. The caller's own continues unless it is one of them, however many end.
    func end(
        _ sessions: [UserSessionRecord], askedBy caller: SessionCaller, requestID: String
    ) async throws(Refusal) {
        let endsOwn = sessions.contains { $0.id.hasSameBytes(as: caller.sessionID) }
        try await revoke(
            try await targets(
                for: sessions.map(\.id), of: caller.userID, from: sessions,
                sparing: endsOwn ? nil : caller.sessionID, requestID), meaning: sessions, requestID)
        for session in sessions {
            _ = try await withRecords(requestID) { try await records.end(session.id, at: now()) }
        }
    }

    /// Ends all of a user's sessions.
    ///
    /// - Parameter also: a session that ends whether or not it is stored here.
    /// - Returns: the number of sessions ended.
    package func endAll(of userID: String, also: String? = nil, requestID: String) async throws(Refusal) -> Int {
        let stored = try await withRecords(requestID) { try await records.sessions(of: userID) }
        let open = stored.filter { $0.endedAt == nil }
        let known = Set(open.map(\.id) + [also].compactMap { $0 })
        do throws(Refusal) {
            try await revoke(
                try await targets(for: known.sorted(), of: userID, from: open, requestID), meaning: stored, requestID)
        } catch {
            try await revokeAll(
                of: userID, upTo: open.map(\.authTime).max(), meaning: stored, otherwise: error, requestID)
        }
        let ended = try await withRecords(requestID) { try await records.endAll(of: userID, at: now()) }
        // Sessions may have begun meanwhile.
        try await revoke(
            ended.map(\.id).filter { !known.contains($0) }.map(Revocation.Target.session), meaning: ended, requestID)
        return known.union(ended.map(\.id)).count
    }

    /// The number of a user's sessions that are revoked individually. Beyond it, one entry revokes all sessions up to
    /// the newest of them, so that repeated sign-ins and sign-outs cannot fill the revocation list.
    private static let revokedSingly = 64

    /// Returns the revocations that end these sessions.
    ///
    /// - Parameters:
    ///   - stored: the sessions' records.
    ///   - own: a session that a common entry excludes.
    private func targets(
        for ids: [String], of userID: String?, from stored: [UserSessionRecord], sparing own: String? = nil,
        _ requestID: String
    ) async throws(Refusal) -> [Revocation.Target] {
        let singly = ids.map(Revocation.Target.session)
        guard let userID, let newest = stored.map(\.authTime).max() else { return singly }
        let hasMany = try await withRecords(requestID) {
            try await records.hasEnded(atLeast: Self.revokedSingly - ids.count + 1, of: userID)
        }
        guard hasMany else { return singly }
        let others = Set(ids).subtracting(stored.map(\.id)).sorted()
        let all: Revocation.Target =
            own.map { .otherSignIns(userID, before: newest, sparing: $0) } ?? .subject(userID, before: newest)
        return [all] + others.map(Revocation.Target.session)
    }

    /// Ends all sessions of the caller's user except the caller's own, with one entry on the revocation list.
    ///
    /// - Parameter stored: the records of the caller's user.
    func endOthers(
        than caller: SessionCaller, of stored: [UserSessionRecord], _ requestID: String
    ) async throws(Refusal) {
        let others = stored.filter { !$0.id.hasSameBytes(as: caller.sessionID) }
        guard let newest = others.map(\.authTime).max() else { return }
        try await revoke(
            [.otherSignIns(caller.userID, before: newest, sparing: caller.sessionID)], meaning: others, requestID)
        for session in others where session.endedAt == nil {
            _ = try await withRecords(requestID) { try await records.end(session.id, at: now()) }
        }
    }

    /// Revokes all of a user's sessions up to a time with one entry, if there was no room for more.
    func revokeAll(
        of userID: String, upTo time: Int64?, meaning stored: [UserSessionRecord], otherwise refusal: Refusal,
        _ requestID: String
    ) async throws(Refusal) {
        guard let time else { throw refusal }
        try await revoke([.subject(userID, before: time)], meaning: stored, requestID)
    }

    /// Revokes all of a user's tokens permanently: a later sign-in creates another user.
    func revokeForever(
        _ userID: String, meaning stored: [UserSessionRecord], _ requestID: String
    ) async throws(Refusal) {
        try await revoke([.subject(userID, before: .max)], meaning: stored, requestID)
    }

    /// From now on, identity tokens of a user issued up to a time begin no session.
    ///
    /// - Parameters:
    ///   - issuer: the issuer of the identity tokens.
    ///   - endsAt: when the tokens would be too old anyway.
    func refuseIdentityTokens(
        of subject: String, by issuer: String, issuedUntil time: Int64, until endsAt: Int64, requestID: String
    ) async throws(Refusal) {
        guard endsAt > now(), Revocation.isValue(subject) else { return }
        do {
            try await revocations.revoke([Revocation(issuer: issuer, .subject(subject, before: time), endsAt: endsAt)])
        } catch {
            logger.error(
                "identity tokens could not be put on the revocation list",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
            throw Self.notRevoked
        }
    }

    /// Whether an identity token can no longer begin a session. Its age counts from its issue: the user may have
    /// authenticated to the provider long before.
    func refuses(identityToken token: VerifiedToken) -> Bool {
        var token = token
        token.claims["auth_time"] = nil
        return revocations.current.isRevoked(token)
    }

    /// Puts sessions on the revocation list for as long as any of their tokens could be used, including tokens issued
    /// under settings with a longer lifetime.
    func revoke(
        _ targets: [Revocation.Target], meaning stored: [UserSessionRecord], _ requestID: String
    ) async throws(Refusal) {
        guard !targets.isEmpty else { return }
        let latest = stored.map { max($0.expiresAt, $0.previousExpiresAt) }.max() ?? 0
        // Until none of their tokens can be used.
        let lifetime = settings.lifetime + settings.refreshWithin + issuer.skew + 60
        let endsAt = max(now(), latest - settings.lifetime) + lifetime
        do {
            try await revocations.revoke(
                targets.map { Revocation(issuer: issuer.issuer, $0, endsAt: endsAt) })
        } catch {
            logger.error(
                "sessions could not be put on the revocation list",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
            throw Self.notRevoked
        }
    }
}
