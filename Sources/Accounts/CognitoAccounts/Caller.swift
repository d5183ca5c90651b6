internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// A caller with an access token of the pool's.
struct Caller: Sendable {
    var token: Secret
    var identity: VerifiedToken

    var subject: String { identity.subject }
    /// `token` as the operations of Cognito's that act for a user take it.
    var input: JSONObject { ["AccessToken": .string(token.exposeText())] }
    var originID: String? { identity.claims["origin_jti"]?.stringValue }
    /// In seconds since 1970, as the revocation list reads it.
    var signedInAt: Int64? { identity.claims["auth_time"]?.numberValue?.numericDate ?? identity.issuedAt }
}

extension CognitoAccounts {
    /// Only this pool's access tokens go to Cognito: no other issuer's token is shown to it.
    func caller(_ request: AccountRequest) throws(Refusal) -> Caller {
        guard let token = request.bearer, let identity = request.identity else { throw .tokenMissing() }
        try checkAccessToken(identity)
        return Caller(token: token, identity: identity)
    }

    /// As ``caller(_:)``, for a call that the gateway does itself, or in which it does something before Cognito sees the
    /// token: it must have the scope that Cognito wants for the user's own account.
    ///
    /// - Throws: 403 as for Cognito's own refusal.
    func callerOfOwnAccount(_ request: AccountRequest) throws(Refusal) -> Caller {
        let caller = try caller(request)
        guard caller.identity.scopes.contains(where: { $0.hasSameBytes(as: UserAttributeRule.scope) }) else {
            throw .scopeMissing(UserAttributeRule.scope, reason: .cognito(.scopeMissing))
        }
        return caller
    }

    func checkAccessToken(_ identity: VerifiedToken) throws(Refusal) {
        guard identity.issuer.hasSameBytes(as: settings.issuer), identity.tokenUse == .access else {
            throw .tokenInvalid(
                .notAuthorized, message: "An access token is required.", reason: .account(.notAnAccessToken))
        }
    }

    func user(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountUser {
        let output = try await call(.getUser, caller.input, for: request, at: .bearer)
        guard var user = AccountUser(output: output, groups: caller.identity.groups) else {
            throw unusable("UnreadableUser", request)
        }
        user.claims = caller.identity.claims
        return user
    }

    /// The user as responses show them.
    func shown(_ user: AccountUser) -> JSONObject {
        settings.userFields.added(to: user.object, user.value)
    }

    /// 200: the user is the whole body.
    func answer(showing user: AccountUser) -> AccountAnswer {
        .showing(shown(user), subject: user.id, outcome: .shown(user))
    }

    /// The response to a call whose change is made: it counts as made also where the state after it cannot be read.
    func answer(
        afterChangeBy caller: Caller, _ request: AccountRequest,
        reading: () async throws(Refusal) -> AccountAnswer
    ) async -> AccountAnswer {
        do throws(Refusal) {
            return try await reading()
        } catch {
            var answer = AccountAnswer(refusal: error, requestID: request.requestID)
            (answer.outcome, answer.subject) = (.succeeded, caller.subject)
            return answer
        }
    }

    /// Whether the user's authenticator app is asked for at sign-in.
    func setTOTP(isEnabled: Bool, _ caller: Caller, _ request: AccountRequest) async throws(Refusal) {
        var input = caller.input
        input["SoftwareTokenMfaSettings"] = ["Enabled": .bool(isEnabled), "PreferredMfa": .bool(isEnabled)]
        _ = try await call(.setUserMFAPreference, input, for: request, at: .bearer)
    }
}
