internal import Cryptography
package import Encoding
internal import Logging
package import Pipeline
internal import Store

/// What ending sessions has come to.
package struct EndedSessions: Sendable {
    package var count = 0
    /// How many of them Cognito could not be told of. They are refused here all the same.
    package var providerFailures = 0

    package init() {}

    init(count: Int, providerFailures: Int = 0) {
        self.count = count
        self.providerFailures = providerFailures
    }

    package static func += (all: inout EndedSessions, more: EndedSessions) {
        all.count += more.count
        all.providerFailures += more.providerFailures
    }
}

/// What an operator may know of the sessions of a pool's users, and do about them.
extension CognitoAccounts {
    /// Those that go on, oldest first.
    package func openSessions(of subject: String, requestID: String) async throws(Refusal) -> [JSONObject] {
        let held = try await usingRecords(requestID, logger) { try await sessions.held(of: subject) }
        return held.filter { $0.isOpen(at: now()) }.map { record in
            var session = record.exported
            session["id"] = .string(Hexadecimal.encode(record.family))
            session["subject"] = .string(record.subject)
            return session
        }
    }

    /// Nil where no session of this id goes on.
    package func user(ofSession id: String, requestID: String) async throws(Refusal) -> String? {
        try await open(id, requestID)?.subject
    }

    /// Ends one session: its refresh tokens, and the access tokens that came from its sign-in.
    ///
    /// - Returns: nil where no session of this id goes on.
    package func endSession(_ id: String, requestID: String) async throws(Refusal) -> EndedSessions? {
        guard let found = try await open(id, requestID) else { return nil }
        let request = request(requestID)
        try await revoke([found.originID].compactMap { $0 }.map(Revocation.Target.originID), request)
        let ended = try await usingRecords(requestID, logger) {
            try await sessions.end(family: found.family, originIDs: [])
        }
        return EndedSessions(count: 1, providerFailures: await endAtCognito(ended, request))
    }

    private func open(_ id: String, _ requestID: String) async throws(Refusal) -> SessionRecord? {
        guard let family = Hexadecimal.decode(id) else { return nil }
        let found = try await usingRecords(requestID, logger) { try await sessions.records.session(family) }
        guard let found, found.poolID == settings.poolID, found.isOpen(at: now()) else { return nil }
        return found
    }

    /// Ends all sessions of a user that are kept here. Their access tokens are the caller's to revoke.
    package func endSessions(of subject: String, requestID: String) async throws(Refusal) -> EndedSessions {
        let open = try await openSessions(of: subject, requestID: requestID).count
        let ended = try await usingRecords(requestID, logger) { try await sessions.endAll(of: subject) }
        return EndedSessions(count: open, providerFailures: await endAtCognito(ended, request(requestID)))
    }

    /// Nothing depends on it: nobody unseals the tokens any more.
    private func endAtCognito(_ ended: [RefreshSessions.Ended], _ request: AccountRequest) async -> Int {
        var failures = 0
        for session in ended {
            do {
                try await revokeAtCognito(session.refreshToken, request)
            } catch {
                failures += 1
            }
        }
        return failures
    }

    private func request(_ requestID: String) -> AccountRequest {
        AccountRequest(operation: .logout, requestID: requestID, clientAddress: "")
    }
}

extension SessionRecord {
    fileprivate func isOpen(at now: Int64) -> Bool { endedAt == nil && endsAt > now }
}
