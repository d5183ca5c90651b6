internal import Accounts
internal import Cryptography
package import Encoding
internal import HTTPTypes
internal import Logging
package import Pipeline
package import Store

extension SessionEndpoints {
    /// `POST logout`: this session, or all of the user's. Over others only the newest token of a session has a say, or one
    /// that may be exchanged once more: else whoever keeps an old one could sign the user out at will.
    func logout(
        _ caller: SessionCaller?, everywhere: Bool, _ request: SessionRequest
    ) async throws(Refusal) -> AccountAnswer {
        // Nobody is signed out who is already.
        guard let caller else { return .done() }
        let sessions = try kept()
        if everywhere {
            guard try await sessions.mayRefresh(caller, requestID: request.requestID) else {
                return .done(subject: caller.userID)
            }
            _ = try await sessions.endAll(of: caller.userID, also: caller.sessionID, requestID: request.requestID)
        } else {
            try await sessions.end(caller.sessionID, requestID: request.requestID)
        }
        return .done(subject: caller.userID)
    }

    /// `DELETE me`: nothing is left of the user here; then every token ends. Each step can be repeated with the same token
    /// until the last one is done.
    func deleteMe(_ caller: SessionCaller, _ request: SessionRequest) async throws(Refusal) -> AccountAnswer {
        let sessions = try kept()
        let held = try await sessions.kept(request.requestID) {
            try await sessions.records.sessions(of: caller.userID)
        }
        try await forget(caller.userID, sessions, requestID: request.requestID)
        var answer = AccountAnswer.done(subject: caller.userID)
        answer.lastStep = { () async throws(Refusal) in
            try await sessions.revokeForever(caller.userID, meaning: held, request.requestID)
        }
        return answer
    }

    /// Deletes a user whom Apple does not know any more. Every token ends first: as long as the user is here, it is done
    /// anew when Apple tells of it again.
    func delete(_ userID: String, requestID: String) async throws(Refusal) {
        let sessions = try kept()
        let held = try await sessions.kept(requestID) { try await sessions.records.sessions(of: userID) }
        try await sessions.revokeForever(userID, meaning: held, requestID)
        try await forget(userID, sessions, requestID: requestID)
    }

    /// First those hear of it who must, while what they need is still there. A user who is gone already is fine.
    private func forget(
        _ userID: String, _ sessions: UserSessions, requestID: String
    ) async throws(Refusal) {
        let user = try await sessions.kept(requestID) { try await sessions.users.user(userID) }
        if let user {
            for companion in companions {
                try await sessions.kept(requestID) { try await companion.willDelete(user) }
            }
        }
        _ = try await sessions.kept(requestID) {
            try await sessions.users.delete(userID, handingOver: apple.grants?.handOver)
        }
    }

    /// `GET me/export`: everything that is held about the user.
    func export(_ caller: SessionCaller, _ request: SessionRequest) async throws(Refusal) -> AccountAnswer {
        let sessions = try kept()
        let known = try await sessions.kept(request.requestID) {
            (try await sessions.users.user(caller.userID), try await sessions.records.sessions(of: caller.userID))
        }
        guard let user = known.0 else { throw .tokenInvalid(reason: .account(.sessionEnded)) }
        var export: JSONObject = [
            "success": true, "exported_at": .string(Timestamp.text(sessions.now())), "user": .object(user.exported),
            "sessions": .array(known.1.map { .object($0.exported) }),
        ]
        for companion in companions {
            let held = try await sessions.kept(request.requestID) { try await companion.held(of: user) }
            for (name, value) in held { export[name] = value }
        }
        for observer in observers {
            for (member, value) in try await observer.held(about: user.id, poolID: name) { export[member] = value }
        }
        return AccountAnswer(.ok, export, subject: user.id)
    }
}

extension UserSessions {
    /// Ends a session. It is revoked first, which outlasts everything: whatever stops what follows, it counts no more.
    func end(_ sessionID: String, requestID: String) async throws(Refusal) {
        let held = try await kept(requestID) { try await records.session(sessionID) }
        let known = [held?.session].compactMap { $0 }
        try await revoke(
            try await targets(for: [sessionID], of: held?.user.id, from: known, requestID), meaning: known, requestID)
        _ = try await kept(requestID) { try await records.end(sessionID, at: now()) }
    }

    /// Ends a session that has just begun and must not count. Nobody has its token, so that the revocation list needs no
    /// entry. The log tells of what fails.
    func takeBack(_ begun: BegunSession, requestID: String) async {
        // In a task of its own: the client's hanging up must not leave it undone.
        await Task {
            _ = try? await kept(requestID) { try await records.end(begun.id, at: now()) }
        }.value
    }

    /// Ends these sessions, and none that have begun since they were read.
    func end(_ sessions: [UserSessionRecord], requestID: String) async throws(Refusal) {
        for session in sessions { try await end(session.id, requestID: requestID) }
    }

    /// Ends all of a user's sessions.
    ///
    /// - Parameter also: one that ends whether it is kept here or not.
    /// - Returns: how many there were.
    package func endAll(of userID: String, also: String? = nil, requestID: String) async throws(Refusal) -> Int {
        let held = try await kept(requestID) { try await records.sessions(of: userID) }
        let open = held.filter { $0.endedAt == nil }
        let known = Set(open.map(\.id) + [also].compactMap { $0 })
        do throws(Refusal) {
            try await revoke(
                try await targets(for: known.sorted(), of: userID, from: open, requestID), meaning: held, requestID)
        } catch {
            try await revokeAll(
                of: userID, upTo: open.map(\.authTime).max(), meaning: held, otherwise: error, requestID)
        }
        let ended = try await kept(requestID) { try await records.endAll(of: userID, at: now()) }
        // One may have begun in between.
        try await revoke(
            ended.map(\.id).filter { !known.contains($0) }.map(Revocation.Target.session), meaning: ended, requestID)
        return known.union(ended.map(\.id)).count
    }

    /// So many sessions of a user's are revoked one by one; after that all up to the newest of them are, by one entry:
    /// nobody fills the revocation list by signing in and out.
    private static let revokedSingly = 64

    /// The revocations that end these sessions.
    ///
    /// - Parameter held: what is kept of them.
    private func targets(
        for ids: [String], of userID: String?, from held: [UserSessionRecord], _ requestID: String
    ) async throws(Refusal) -> [Revocation.Target] {
        let singly = ids.map(Revocation.Target.session)
        guard let userID, let newest = held.map(\.authTime).max() else { return singly }
        let hasMany = try await kept(requestID) {
            try await records.hasEnded(atLeast: Self.revokedSingly - ids.count + 1, of: userID)
        }
        guard hasMany else { return singly }
        let others = Set(ids).subtracting(held.map(\.id)).sorted()
        return [.subject(userID, before: newest)] + others.map(Revocation.Target.session)
    }

    /// By one entry, where there was no room for more: it takes along what began before.
    func revokeAll(
        of userID: String, upTo time: Int64?, meaning held: [UserSessionRecord], otherwise refusal: Refusal,
        _ requestID: String
    ) async throws(Refusal) {
        guard let time else { throw refusal }
        try await revoke([.subject(userID, before: time)], meaning: held, requestID)
    }

    /// For ever: who signs in again is another user.
    func revokeForever(
        _ userID: String, meaning held: [UserSessionRecord], _ requestID: String
    ) async throws(Refusal) {
        try await revoke([.subject(userID, before: .max)], meaning: held, requestID)
    }

    /// Puts sessions on the revocation list for as long as any of their tokens is good for anything: also those that
    /// were made when the settings gave them a longer life.
    func revoke(
        _ targets: [Revocation.Target], meaning held: [UserSessionRecord], _ requestID: String
    ) async throws(Refusal) {
        guard !targets.isEmpty else { return }
        let latest = held.map { max($0.expiresAt, $0.previousExpiresAt) }.max() ?? 0
        let endsAt = max(now(), latest - settings.lifetime) + settings.revocationLifetime
        do {
            try await revocations.revoke(
                targets.map { Revocation(issuer: settings.issuer.issuer, $0, endsAt: endsAt) })
        } catch {
            logger.error(
                "sessions could not be put on the revocation list",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
            throw .retryLater(.serviceUnavailable, after: 5, reason: .account(.notRevoked))
        }
    }
}

extension UserRecord {
    /// As `GET me/export` shows it.
    var exported: JSONObject {
        var object = object
        object["email_verified"] = .bool(emailVerified)
        object["is_private_email"] = .bool(isPrivateEmail)
        object["email_as_of"] = emailAsOf > 0 ? .string(Timestamp.text(emailAsOf)) : .null
        object["issuer"] = .string(issuer)
        object["subject"] = .string(subject)
        object["created_at"] = .string(Timestamp.text(createdAt))
        object["disabled_at"] = disabledAt.map { .string(Timestamp.text($0)) } ?? .null
        return object
    }
}

extension UserSessionRecord {
    /// As `GET me/export` shows it.
    package var exported: JSONObject {
        [
            "id": .string(id), "signed_in_at": .string(Timestamp.text(authTime)),
            "created_at": .string(Timestamp.text(createdAt)), "refreshed_at": .string(Timestamp.text(refreshedAt)),
            "expires_at": .string(Timestamp.text(expiresAt)),
            "ended_at": endedAt.map { .string(Timestamp.text($0)) } ?? .null,
            "device_id": deviceID.map(JSON.string) ?? .null, "platform": platform.map(JSON.string) ?? .null,
        ]
    }
}
