package import Accounts
package import Encoding
internal import HTTPTypes
internal import Pipeline
package import Store

/// Another component with data about users, besides the users' records.
package protocol UserCompanion: Sendable {
    /// Called before a user is deleted, while all of their data still exists. Messages to other services about it must
    /// be stored durably when this returns.
    ///
    /// - Throws: an error that prevents the deletion.
    func willDelete(_ user: UserRecord) async throws

    /// Returns the data about the user for `GET me/export`: members to add to the response.
    func export(of user: UserRecord) async throws -> JSONObject
}

/// The endpoints of sign-in with Apple and of the gateway's own sessions.
package struct SessionEndpoints: Sendable {
    /// The name of these users' realm for audit, limits and backends: the `iss` of the sessions, or Apple's if there
    /// are none.
    let name: String
    /// Nil if a backend stores users and sessions.
    package let sessions: UserSessions?
    /// The verification of sign-ins with Apple and of its notifications.
    package let apple: AppleSignIn
    let companions: [any UserCompanion]
    let flow: AccountFlow

    package init(
        name: String, sessions: UserSessions?, apple: AppleSignIn, companions: [any UserCompanion] = [],
        flow: AccountFlow
    ) {
        self.name = name
        self.sessions = sessions
        self.apple = apple
        self.companions = [apple.grants].compactMap { $0 } + companions
        self.flow = flow
    }

    /// The task that validates consents with Apple; nil if there are none.
    package var grantValidation: AppleGrantValidation? {
        guard let grants = apple.grants, let sessions else { return nil }
        return AppleGrantValidation(grants, sessions)
    }

    /// Answers a request. Never fails: every failure becomes a response with the API's error body.
    package func answer(_ request: AccountRequest) async -> AccountAnswer {
        do {
            return try await flow.answer(request, among: Self.endpointsByOperation, of: self, poolID: name)
        } catch {
            var refusal = error
            refusal.deniesSuccess = true
            return AccountAnswer(refusal: refusal, requestID: request.requestID)
        }
    }

    /// All endpoints, in the order of their routes.
    private static let endpoints: [any AccountEndpoint<SessionEndpoints>.Type] = [
        AppleNonceEndpoint.self, AppleSignInEndpoint.self, AppleNotificationEndpoint.self,
        SessionValidateEndpoint.self, SessionRefreshEndpoint.self, SessionLogoutEndpoint.self,
        SessionMeEndpoint.self, SessionUpdateMeEndpoint.self, SessionDeleteMeEndpoint.self, SessionExportEndpoint.self,
        OwnSessionListEndpoint.self,
        EndOwnSessionEndpoint.self, EndOtherOwnSessionsEndpoint.self,
    ]

    package static let operations = endpoints.map { $0.operation }

    private static let endpointsByOperation = AccountEndpoints<SessionEndpoints>(
        uniqueKeysWithValues: endpoints.map { ($0.operation, $0) })

    /// The sessions. If there are none, no route leads here.
    func ownSessions() throws(Refusal) -> UserSessions {
        guard let sessions else { throw .notFound() }
        return sessions
    }

    /// The session token verified by the pipeline. The route's rules admit no other issuer's token.
    func verified(_ request: AccountRequest) throws(Refusal) -> VerifiedToken {
        guard let token = request.identity else { throw .tokenMissing() }
        guard token.issuer.hasSameBytes(as: try ownSessions().issuer.issuer), token.tokenUse == .session else {
            throw .tokenInvalid(reason: .account(.notASession))
        }
        return token
    }

    /// Records the caller's session in the report of a call that was refused because of the session's state.
    func note(_ refusal: Refusal, _ request: AccountRequest, in call: inout AccountCall) {
        if refusal.error == .tokenRefresh { call.session = sessions?.called(by: request.bearer) }
    }

    /// Deletes a user after the companions have been called, while the data that they need still exists. A missing user
    /// is not an error.
    func forget(_ userID: String, requestID: String) async throws(Refusal) {
        let sessions = try ownSessions()
        let user = try await sessions.withRecords(requestID) { try await sessions.users.user(userID) }
        if let user {
            for companion in companions {
                try await sessions.withRecords(requestID) { try await companion.willDelete(user) }
            }
        }
        _ = try await sessions.withRecords(requestID) {
            try await sessions.users.delete(userID, handingOver: apple.grants?.handOver)
        }
    }
}
