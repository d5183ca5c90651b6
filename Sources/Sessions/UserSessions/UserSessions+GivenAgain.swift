internal import Accounts
internal import Cryptography
internal import Encoding
internal import Keys
internal import Pipeline
internal import Sealing
internal import Store

/// The result of a refresh.
package struct SessionSuccessor: Sendable {
    var token: Secret
    /// Whether it was already issued for the same token.
    var isGivenAgain = false
}

/// Lost tokens: a caller with the predecessor of a token that has not been refreshed yet gets that token again.
extension UserSessions {
    func mayHaveAgain(_ session: UserSessionRecord, on deviceID: String?) -> Bool {
        BoundDevice.mayHaveAgain(deviceID, of: session.deviceID, isInWindow: isInWindow(session))
    }

    func isInWindow(_ session: UserSessionRecord) -> Bool {
        RetryWindows.isOpen(refreshedAt: session.refreshedAt, retryUntil: session.retryUntil, now: now())
    }

    /// Whether it is the session's device. A session without a device accepts any.
    func isDevice(_ deviceID: String, of session: UserSessionRecord) -> Bool {
        guard let bound = session.deviceID else { return true }
        return BoundDevice.isSame(deviceID, as: bound)
    }

    /// Returns the newest token of a session: as it was issued, or signed again with the same number and times. An
    /// expired one gets new times under its number; all holders of that number continue with it.
    func again(
        _ session: UserSessionRecord, _ user: UserRecord, _ key: AssertionKey, _ caller: SessionCaller,
        on deviceID: String?, _ requestID: String
    ) async throws(Refusal) -> SessionSuccessor {
        var given: Secret?
        // Another gateway may have sealed it with a key unknown to this one: it is signed again.
        if let sealed = session.successor.map({ Secret($0) }), !sealingKeys.lacksKey(of: sealed) {
            given = successor(sealed, of: session)
            // A text that does not open, or belongs to another row, was inserted by an attacker.
            guard given != nil else {
                try await endReused(session, requestID)
                throw .tokenInvalid(.tokenRefresh, reason: .account(.refreshTokenReused))
            }
        }
        var renewed = session
        try bringOn(&renewed)
        guard session.expiresAt <= now() else {
            let token = if let given { given } else { try sign(session, user, key, requestID) }
            return SessionSuccessor(token: token, isGivenAgain: true)
        }
        let token = try sign(renewed, user, key, requestID)
        renewed.successor = try seal(token, requestID)
        let step = try await withRecords(requestID) { [renewed] in try await records.renew(session, as: renewed) }
        guard case .taken = step else { return try await overtaken(caller, on: deviceID, requestID) }
        return SessionSuccessor(token: token, isGivenAgain: true)
    }

    /// Another process was faster, or the session was ended meanwhile: returns the token that is stored now.
    func overtaken(
        _ caller: SessionCaller, on deviceID: String?, _ requestID: String
    ) async throws(Refusal) -> SessionSuccessor {
        guard let key = keys.signing else { throw unavailable(.sessionKeysUnavailable, requestID) }
        let known = try await withRecords(requestID) { try await records.session(caller.sessionID) }
        guard let (session, user) = known, user.id.hasSameBytes(as: caller.userID), user.disabledAt == nil,
            try await isUnusedParent(caller, of: session, on: deviceID, requestID)
        else { throw Self.ended }
        return try await again(session, user, key, caller, on: deviceID, requestID)
    }

    func seal(_ token: Secret, _ requestID: String) throws(Refusal) -> [UInt8] {
        do {
            return try SealedText.seal(token.expose(), as: .session, with: sealingKeys, poolID: issuer.issuer).expose()
        } catch {
            throw unavailable(.sealingFailed, requestID)
        }
    }

    /// Nil for a token of another row, which opens too.
    private func successor(_ sealed: Secret, of session: UserSessionRecord) -> Secret? {
        let plain = try? SealedText.open(sealed, as: .session, with: sealingKeys, poolID: issuer.issuer)
        guard let token = plain.map({ Secret($0) }), let called = caller(of: token),
            called.sessionID.hasSameBytes(as: session.id), called.rotation == session.rotation
        else { return nil }
        return token
    }
}
