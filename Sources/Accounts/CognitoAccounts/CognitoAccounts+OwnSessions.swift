internal import Cognito
internal import Cryptography
internal import Encoding
package import Pipeline
internal import Store

/// A user's own sessions: listing and ending them.
extension CognitoAccounts {
    /// Returns the caller's open sessions.
    func openSessions(of caller: Caller, _ request: AccountRequest) async throws(Refusal) -> [SessionRecord] {
        let stored = try await withRecords(request) { try await sessions.openSessions(of: caller.subject) }
        return stored.filter { $0.isOpen(at: now()) }
    }

    /// Returns the session of this family; nil if it is not the caller's.
    func session(
        _ family: [UInt8], of caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) -> SessionRecord? {
        let record = try await withRecords(request) { try await sessions.records.session(family) }
        guard let record, record.poolID.hasSameBytes(as: settings.poolID),
            record.subject.hasSameBytes(as: caller.subject)
        else { return nil }
        return record
    }

    /// Ends sessions. The access tokens are revoked first, so that they are refused whatever follows. A session's
    /// record is ended after Cognito's token, because a repeated call needs it. The caller's own access token is
    /// revoked last, for the same reason.
    func end(
        _ records: [SessionRecord], askedBy caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) {
        let origins = Set(records.compactMap(\.originID))
        let own = origins.intersection([caller.originID].compactMap { $0 })
        let newest = records.map { sessions.ended($0)?.signedInAt ?? $0.signedInAt }.max()
        try await revoke(
            targets(
                for: origins.subtracting(own), of: caller.subject, signedInUntil: newest, sparing: caller.originID),
            request)
        var failure: Refusal?
        for record in records {
            do throws(Refusal) {
                try await end(record, request)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        try await revoke(targets(for: own, of: caller.subject, signedInUntil: caller.signedInAt), request)
    }

    private func end(_ record: SessionRecord, _ request: AccountRequest) async throws(Refusal) {
        let known = sessions.ended(record)
        if let known { try await revokeAtCognito(known, request) }
        let ended = try await withRecords(request) { try await sessions.end(family: record.family, originIDs: []) }
        // A refresh in the meantime has stored another refresh token.
        for newer in ended where known?.isSame(as: newer) != true { try await revokeAtCognito(newer, request) }
    }

    /// Revokes the session's refresh token. A token of an app client that is no longer configured ends only here: no
    /// gateway unseals it.
    private func revokeAtCognito(
        _ session: RefreshSessions.Ended, _ request: AccountRequest
    ) async throws(Refusal) {
        try await revokeAtCognito(session.refreshToken, of: session.clientID, request)
    }
}

extension RefreshSessions.Ended {
    fileprivate func isSame(as other: Self) -> Bool {
        constantTimeEquals(refreshToken.expose(), other.refreshToken.expose())
    }
}

extension Caller {
    /// Returns whether the caller's access token belongs to that session; false if either has no `origin_jti`.
    func isOf(_ session: SessionRecord) -> Bool {
        guard let originID, let other = session.originID else { return false }
        return originID.hasSameBytes(as: other)
    }
}

extension Refusal {
    /// Returns the refusal for a session that does not exist, or is another user's: the same for both.
    package static func unknownSession() -> Refusal { Refusal(.notFound, reason: .account(.unknownSession)) }
}
