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
    /// - Parameter deviceID: the id of the calling device, as claimed by it; nil if it claims none.
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
        // A deleted user has no sessions.
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

    /// Whether a token may end the user's other sessions, as far as the records show. If the records lack its session,
    /// a token that has not expired may. The predecessor of an unused token may only within the retry window: otherwise
    /// anyone who finds an old one could sign the user out everywhere.
    ///
    /// - Returns: false if the session was ended.
    /// - Throws: 401 if the token was replaced; its session is then ended.
    func mayEndOthers(_ caller: SessionCaller, requestID: String) async throws(Refusal) -> Bool {
        let known = try await withRecords(requestID) { try await records.session(caller.sessionID) }
        guard let (session, _) = known else { return caller.expiresAt > now() }
        guard session.endedAt == nil else { return false }
        let isParent = try await isUnusedParent(caller, of: session, on: nil, requestID)
        if isParent, !isInWindow(session) { throw try await reused(caller, session, requestID) }
        return true
    }

    /// Determines the position of a token in its session.
    ///
    /// - Returns: false for the newest token; true for the previous one if its successor may be returned again.
    func isUnusedParent(
        _ caller: SessionCaller, of session: UserSessionRecord, on deviceID: String?, _ requestID: String
    ) async throws(Refusal) -> Bool {
        guard session.endedAt == nil else { throw Self.ended }
        // A record that is behind the token lost its last refreshes in a power loss.
        guard caller.rotation < session.rotation else {
            guard isOfPast(caller) || isNewest(caller, of: session) else {
                throw .tokenInvalid(reason: .token(.issuedInFuture))
            }
            return false
        }
        if caller.rotation == session.rotation - 1, mayHaveAgain(session, on: deviceID) { return true }
        throw try await reused(caller, session, requestID)
    }

    /// Ends the session of a reused token.
    ///
    /// - Returns: the refusal of the call.
    private func reused(
        _ caller: SessionCaller, _ session: UserSessionRecord, _ requestID: String
    ) async throws(Refusal) -> Refusal {
        // After the clock was set back, it is unknown how long ago the successor was issued.
        guard isOfPast(caller) else { return .tokenInvalid(reason: .token(.issuedInFuture)) }
        try await endReused(session, requestID)
        return .tokenInvalid(.tokenRefresh, reason: .account(.refreshTokenReused))
    }

    private func isOfPast(_ caller: SessionCaller) -> Bool {
        caller.issuedAt.map { $0 <= now() + issuer.skew } ?? true
    }

    /// Whether it is the token issued with the last refresh of the session, by whatever clock.
    private func isNewest(_ caller: SessionCaller, of session: UserSessionRecord) -> Bool {
        caller.rotation == session.rotation && caller.issuedAt == session.refreshedAt
    }

    /// Sets a session's times to a refresh now.
    ///
    /// - Throws: 401 if the session may not continue.
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

    /// Stores the token before it is returned, so that a client that does not receive it can request it again.
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

    /// RFC 9700, 4.14.2: it is unknown which of the two is the thief, so the session ends for both.
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

    /// If the revocation list is full, the thief must not keep the session: the user's older sessions are revoked with
    /// it, and if there is no room for that either, no further token is issued.
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
