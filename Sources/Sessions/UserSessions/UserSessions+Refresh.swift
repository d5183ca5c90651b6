internal import Accounts
internal import Cryptography
internal import Encoding
internal import Keys
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// The exchange of tokens.
extension UserSessions {
    /// - Parameter deviceID: the device that shows the token, as it says itself; nil: it does not say.
    func refresh(
        _ caller: SessionCaller, on deviceID: String?, requestID: String
    ) async throws(Refusal) -> SessionSuccessor {
        let flight = SHA256.hash(Array("\(caller.sessionID).\(caller.rotation)\n\(deviceID ?? "")".utf8))
        let outcome = await flights.outcome(for: flight) {
            do throws(Refusal) {
                return .success(try await exchange(caller, on: deviceID, requestID))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private func exchange(
        _ caller: SessionCaller, on deviceID: String?, _ requestID: String
    ) async throws(Refusal) -> SessionSuccessor {
        guard let key = keys.signing else { throw unavailable(.sessionKeysUnavailable, requestID) }
        let known = try await withRecords(requestID) { try await records.session(caller.sessionID) }
        // A deleted user has no sessions either.
        guard let (session, user) = known, user.id.hasSameBytes(as: caller.userID) else { throw Self.ended }
        guard user.disabledAt == nil else { throw Refusal(.userDisabled, reason: .account(.userDisabled)) }
        if try await isUnusedParent(caller, of: session, on: deviceID, requestID) {
            return try await again(session, user, key, caller, on: deviceID, requestID)
        }
        if let deviceID, !isDevice(deviceID, of: session) {
            throw .tokenInvalid(.tokenRefresh, reason: .account(.otherDevice))
        }
        var next = session
        next.rotation = caller.rotation + 1
        next.previousExpiresAt = max(session.previousExpiresAt, caller.expiresAt)
        try bringOn(&next)
        let token = try sign(next, user, key, requestID)
        return try await keep(next, token, caller, on: deviceID, requestID)
    }

    /// Whether a token may end the user's other sessions, as far as the records say: one that is good without them is
    /// good for a session that they do not have. The parent of an unused token may within the window alone: else whoever
    /// finds an old one could sign the user out everywhere.
    ///
    /// - Returns: false for a session that was ended.
    /// - Throws: 401 for a token that was replaced. Its session has ended then.
    func mayEndOthers(_ caller: SessionCaller, requestID: String) async throws(Refusal) -> Bool {
        let known = try await withRecords(requestID) { try await records.session(caller.sessionID) }
        guard let (session, _) = known else { return caller.expiresAt > now() }
        guard session.endedAt == nil else { return false }
        let isParent = try await isUnusedParent(caller, of: session, on: nil, requestID)
        if isParent, !isInWindow(session) { throw try await reused(caller, session, requestID) }
        return true
    }

    /// How a token stands in its session.
    ///
    /// - Returns: false for the newest token; true for the one before, where that is to be given once more.
    func isUnusedParent(
        _ caller: SessionCaller, of session: UserSessionRecord, on deviceID: String?, _ requestID: String
    ) async throws(Refusal) -> Bool {
        guard session.endedAt == nil else { throw Self.ended }
        // A record that is behind has lost its last steps with the machine's power.
        guard caller.rotation < session.rotation else {
            guard isOfPast(caller) || isNewest(caller, of: session) else {
                throw .tokenInvalid(reason: .token(.issuedInFuture))
            }
            return false
        }
        if caller.rotation == session.rotation - 1, mayHaveAgain(session, on: deviceID) { return true }
        throw try await reused(caller, session, requestID)
    }

    /// Ends the session of a token that was used again.
    ///
    /// - Returns: the refusal of the call.
    private func reused(
        _ caller: SessionCaller, _ session: UserSessionRecord, _ requestID: String
    ) async throws(Refusal) -> Refusal {
        // By a clock that was set back nobody can tell how long ago the successor was given.
        guard isOfPast(caller) else { return .tokenInvalid(reason: .token(.issuedInFuture)) }
        try await endReused(session, requestID)
        return .tokenInvalid(.tokenRefresh, reason: .account(.refreshTokenReused))
    }

    private func isOfPast(_ caller: SessionCaller) -> Bool {
        caller.issuedAt.map { $0 <= now() + issuer.skew } ?? true
    }

    /// Whether it is the token that was made with the last step of the session, by whatever clock.
    private func isNewest(_ caller: SessionCaller, of session: UserSessionRecord) -> Bool {
        caller.rotation == session.rotation && caller.issuedAt == session.refreshedAt
    }

    /// Brings a session to now.
    ///
    /// - Throws: 401 for one that may go on no more.
    func bringOn(_ session: inout UserSessionRecord) throws(Refusal) {
        let now = now()
        guard now < session.authTime + settings.absoluteLifetime else {
            throw .tokenInvalid(.tokenRefresh, reason: .account(.sessionTooOld))
        }
        guard now < session.refreshedAt + settings.idleLifetime else {
            throw .tokenInvalid(.tokenRefresh, reason: .account(.sessionIdle))
        }
        session.refreshedAt = now
        bringTimes(of: &session)
    }

    /// The token is kept before it is given, so that whoever does not get it can ask once more.
    private func keep(
        _ next: UserSessionRecord, _ token: Secret, _ caller: SessionCaller, on deviceID: String?,
        _ requestID: String
    ) async throws(Refusal) -> SessionSuccessor {
        var next = next
        next.successor = try seal(token, requestID)
        let step = try await withRecords(requestID) { [next] in try await records.advance(to: next) }
        switch step {
        case .taken:
            revocations.supersede(
                SupersededSession(
                    id: next.id, rotation: next.rotation, refreshedAt: next.refreshedAt,
                    expiresAt: next.previousExpiresAt))
            return SessionSuccessor(token: token)
        case .overtaken: return try await overtaken(caller, on: deviceID, requestID)
        }
    }

    /// RFC 9700, 4.14.2: who of the two is the thief can't be told, so the session ends for both.
    func endReused(_ session: UserSessionRecord, _ requestID: String) async throws(Refusal) {
        try await UnawaitedReuse.refuse(requestID: requestID, logger)
        logger.warning(
            "a session's token was used again: the session has been ended", metadata: ["request_id": "\(requestID)"])
        do throws(Refusal) {
            try await end(session.id, requestID: requestID)
        } catch {
            try await endWithoutRoom(session, error, requestID)
        }
    }

    /// Where the revocation list is full, the thief must not have the session meanwhile: the user's older ones go
    /// along, and where there is no room for that either, nobody gets another token.
    private func endWithoutRoom(
        _ session: UserSessionRecord, _ refusal: Refusal, _ requestID: String
    ) async throws(Refusal) {
        do throws(Refusal) {
            try await revokeAll(
                of: session.userID, upTo: session.authTime, meaning: [session], otherwise: refusal, requestID)
        } catch {
            logger.error(
                "a session's newest token is valid until it expires", metadata: ["request_id": "\(requestID)"])
        }
        _ = try await withRecords(requestID) { try await records.end(session.id, at: now()) }
    }

    static var ended: Refusal { .tokenInvalid(.tokenRefresh, reason: .account(.sessionEnded)) }
}
