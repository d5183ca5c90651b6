internal import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Store

extension AppleSignIn {
    /// The end of a sign-in where the gateway keeps the users: identity token and nonce are used up, the user is found
    /// or made, and the session begins, all in one transaction. The authorization code is exchanged before: a fault of
    /// the gateway's that shows in it takes nothing from the user, who may try the same again.
    func signIn(
        _ body: AppleSignInBody, _ proven: Proven, _ sessions: UserSessions, _ request: SessionRequest,
        _ call: inout AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        let identity = proven.identity
        var refreshToken: Secret?
        if let code = body.authorizationCode, let grants {
            try await refuseUsed(proven.proof, request)
            refreshToken = try await grants.exchange(
                code, of: identity, proof: proven.proof.digest, requestID: request.requestID)
        }
        do throws(Refusal) {
            var arrival = arrival(of: identity, proven.proof, body)
            if let refreshToken, let grants {
                arrival.appleToken = { userID in
                    grants.record(
                        of: refreshToken, userID: userID, clientID: identity.audience, requestID: request.requestID)
                }
            }
            let begun = try await sessions.begin(arrival, requestID: request.requestID)
            var answer = AccountAnswer(
                .ok, ["success": true, "token": .string(begun.token.exposeText()), "user": .object(begun.user.object)],
                subject: begun.user.id, outcome: .signedIn(begun.user.account))
            answer.takeBack = { await sessions.takeBack(begun, requestID: request.requestID) }
            return answer
        } catch {
            if let refreshToken { await keepAnyway(refreshToken, proven, after: error, sessions, request) }
            throw error.error == .notAuthorized ? AppleFault.refusal(reason: error.reason) : error
        }
    }

    private func arrival(
        of identity: AppleIdentity, _ proof: UserArrival.Proof, _ body: AppleSignInBody
    ) -> UserSessions.Arrival {
        UserSessions.Arrival(
            proof: proof,
            user: UserRecord(
                id: "", issuer: identity.issuer, subject: identity.subject, name: body.name, email: identity.email,
                emailVerified: identity.email != nil, isPrivateEmail: identity.isPrivateEmail ?? false,
                emailAsOf: identity.email == nil ? 0 : min(identity.issuedAt, now()), role: identity.role, createdAt: 0),
            device: body.device, authTime: identity.issuedAt, roleConflictMessage: settings.roleConflictMessage)
    }

    /// Apple has given something for a sign-in that came to nothing: where that was the gateway's fault, it is there
    /// when the same is tried again; else a user who is known keeps it, so that the consent can be taken back one day.
    private func keepAnyway(
        _ refreshToken: Secret, _ proven: Proven, after refusal: Refusal, _ sessions: UserSessions,
        _ request: SessionRequest
    ) async {
        let identity = proven.identity
        guard refusal.error.status.kind != .serverError else {
            grants?.hold(
                refreshToken, for: proven.proof.digest, until: identity.issuedAt + settings.rules.maximumAge,
                requestID: request.requestID)
            return
        }
        let user = try? await sessions.kept(request.requestID) {
            try await sessions.users.user(issuer: identity.issuer, subject: identity.subject)
        }
        guard let user = user ?? nil else { return }
        await grants?.keep(refreshToken, of: user, clientID: identity.audience, requestID: request.requestID)
    }

    /// Apple is not asked about what is shown again.
    private func refuseUsed(_ proof: UserArrival.Proof, _ request: SessionRequest) async throws(Refusal) {
        if try await kept(request, { try await spent.isSpent(proof.digest) }) {
            throw AppleFault.identityTokenReused.refusal
        }
    }

    /// The end of a sign-in where a backend keeps the users. Identity token and nonce are used up, and the backend gets
    /// the request with the verified identity. If the backend does not answer, the user must sign in with a new
    /// identity token.
    func forward(_ proven: Proven, _ request: SessionRequest) async throws(Refusal) -> AccountAnswer {
        let step = try await kept(request) { try await spent.spend(proven.proof, now: now()) }
        switch step {
        case .spent: break
        case .replayed: throw AppleFault.identityTokenReused.refusal
        case .nonceReused: throw AppleFault.nonceReused.refusal
        }
        var token = proven.token
        token.groups = [proven.identity.role].compactMap { $0 }
        var answer = AccountAnswer(forwarding: .verified(token))
        answer.subject = token.subject
        return answer
    }

    /// Does something with the records.
    func kept<Value>(
        _ request: SessionRequest, _ work: () async throws -> Value
    ) async throws(Refusal) -> Value {
        try await usingRecords(request.requestID, logger, work)
    }
}
