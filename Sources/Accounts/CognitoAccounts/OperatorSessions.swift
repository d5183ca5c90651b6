internal import Cryptography
package import Encoding
internal import Logging
package import Pipeline
internal import Store

/// The result of ending sessions.
package struct EndedSessions: Sendable {
    package var count = 0
    /// The number of sessions that could not be ended at Cognito. The gateway refuses them all the same.
    package var providerFailures = 0

    package init(count: Int = 0, providerFailures: Int = 0) {
        self.count = count
        self.providerFailures = providerFailures
    }

    package static func += (all: inout EndedSessions, more: EndedSessions) {
        all.count += more.count
        all.providerFailures += more.providerFailures
    }
}

/// An operator's view of the sessions of a pool's users, with operations to end them. It covers all app clients of the
/// pool. Each client seals with its own keys, and only the client can revoke the tokens that Cognito issued to it.
package struct OperatorSessions: Sendable {
    /// Never empty.
    private let clients: [CognitoAccounts]
    private var first: CognitoAccounts { clients[0] }

    /// - Returns: nil if there are no clients.
    package init?(_ clients: [CognitoAccounts]) {
        guard !clients.isEmpty else { return nil }
        self.clients = clients
    }

    /// Returns a user's open sessions, oldest first.
    package func open(of subject: String, requestID: String) async throws(Refusal) -> [JSONObject] {
        let stored = try await usingRecords(requestID, first.logger) {
            try await first.sessions.openSessions(of: subject)
        }
        return stored.filter { $0.isOpen(at: first.now()) }.map { record in
            var session = record.exported
            session["id"] = .string(Hexadecimal.encode(record.family))
            session["subject"] = .string(record.subject)
            return session
        }
    }

    /// Returns the user of a session; nil if there is no open session with this ID.
    package func user(ofSession id: String, requestID: String) async throws(Refusal) -> String? {
        try await find(id, requestID)?.subject
    }

    /// Ends one session: its refresh tokens, and the access tokens of its sign-in.
    ///
    /// - Returns: nil if there is no open session with this ID.
    package func end(_ id: String, requestID: String) async throws(Refusal) -> EndedSessions? {
        guard let found = try await find(id, requestID) else { return nil }
        let request = Self.request(requestID)
        try await first.revoke([found.originID].compactMap { $0 }.map(Revocation.Target.originID), request)
        let ended = try await usingRecords(requestID, first.logger) {
            try await first.sessions.records.end(
                family: found.family, originIDs: [], poolID: found.poolID, at: first.now())
        }
        return EndedSessions(count: 1, providerFailures: await endAtCognito(ended, request))
    }

    private func find(_ id: String, _ requestID: String) async throws(Refusal) -> SessionRecord? {
        guard let family = Hexadecimal.decode(id) else { return nil }
        let found = try await usingRecords(requestID, first.logger) {
            try await first.sessions.records.session(family)
        }
        guard let found, found.poolID == first.settings.poolID, found.isOpen(at: first.now()) else { return nil }
        return found
    }

    /// Ends all recorded sessions of a user. The caller must revoke their access tokens.
    package func endAll(of subject: String, requestID: String) async throws(Refusal) -> EndedSessions {
        let open = try await open(of: subject, requestID: requestID).count
        let ended = try await usingRecords(requestID, first.logger) {
            try await first.sessions.records.endAll(
                subject: subject, poolID: first.settings.poolID, except: nil, at: first.now())
        }
        return EndedSessions(count: open, providerFailures: await endAtCognito(ended, Self.request(requestID)))
    }

    /// Revokes the refresh tokens at Cognito and returns the number of failures. Nothing depends on it: no gateway
    /// unseals the tokens any more.
    private func endAtCognito(_ ended: [SessionRecord], _ request: AccountRequest) async -> Int {
        var failures = 0
        for record in ended {
            do {
                guard let (client, sealed) = owner(of: record) else {
                    failures += 1
                    continue
                }
                try await client.revokeAtCognito(sealed.refreshToken, of: sealed.clientID, request)
            } catch {
                failures += 1
            }
        }
        return failures
    }

    /// Returns the client of a session and its token; nil if no configured client can unseal it.
    private func owner(of record: SessionRecord) -> (CognitoAccounts, SealedRefreshToken)? {
        for client in clients {
            let opened = try? SealedRefreshToken(
                opening: Secret(record.token), with: client.sealingKeys, poolID: record.poolID)
            if let opened, client.tokenClient(opened.clientID) != nil { return (client, opened) }
        }
        return nil
    }

    private static func request(_ requestID: String) -> AccountRequest {
        AccountRequest(operation: .logout, requestID: requestID, clientAddress: "")
    }
}

extension SessionRecord {
    func isOpen(at now: Int64) -> Bool { endedAt == nil && endsAt > now }
}
