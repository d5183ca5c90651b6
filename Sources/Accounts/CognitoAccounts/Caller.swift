internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// A caller with an access token of the pool.
struct Caller: Sendable {
    var token: Secret
    var identity: VerifiedToken

    var subject: String { identity.subject }
    /// The input with `token` for Cognito's operations that act for a user.
    var input: JSONObject { ["AccessToken": .string(token.exposeText())] }
    var originID: String? { identity.originID }
    var signedInAt: Int64? { identity.signedInAt }
}

extension VerifiedToken {
    /// The `origin_jti`, which identifies the sign-in.
    var originID: String? { claims["origin_jti"]?.stringValue }
    /// The time of the sign-in in seconds since 1970, as the revocation list compares it.
    var signedInAt: Int64? { claims["auth_time"]?.numberValue?.numericDate ?? issuedAt }
}

extension CognitoAccounts {
    /// Returns the caller with an access token of this pool. No other issuer's token is sent to Cognito.
    ///
    /// - Throws: 401 if there is no verified access token of this pool.
    func caller(_ request: AccountRequest) throws(Refusal) -> Caller {
        guard let token = request.bearer, let identity = request.identity else { throw .tokenMissing() }
        try checkAccessToken(identity)
        return Caller(token: token, identity: identity)
    }

    /// As ``caller(_:)``, for a call that the gateway handles itself, or in which it acts before Cognito sees the
    /// token. The token must have the scope that Cognito requires for the user's own account.
    ///
    /// - Throws: 403 as for Cognito's own refusal, if the scope is missing.
    func callerOfOwnAccount(_ request: AccountRequest) throws(Refusal) -> Caller {
        let caller = try caller(request)
        guard caller.identity.scopes.contains(where: { $0.hasSameBytes(as: UserAttributeRule.scope) }) else {
            throw .scopeMissing(UserAttributeRule.scope, reason: .cognito(.scopeMissing))
        }
        return caller
    }

    /// Returns the revoked access token of a request; nil if there is none. It is also nil for an expired token, which
    /// identifies no session: that call needs a refresh token.
    func revokedToken(_ request: AccountRequest) throws(Refusal) -> VerifiedToken? {
        guard case .revoked(let identity) = request.endedToken else { return nil }
        try checkAccessToken(identity)
        return identity
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

    /// Returns the user as responses show them.
    func shown(_ user: AccountUser) -> JSONObject {
        settings.userFields.added(to: user.object, user.value)
    }

    /// Returns 200 with the user as the whole body.
    func answer(showing user: AccountUser) -> AccountAnswer {
        .showing(shown(user), subject: user.id, outcome: .shown(user))
    }

    /// Returns the response to a call that has made its change. The change counts as made even if the state after it
    /// cannot be read.
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

    /// Sets whether the user's authenticator app is required at sign-in.
    func setTOTP(isEnabled: Bool, _ caller: Caller, _ request: AccountRequest) async throws(Refusal) {
        var input = caller.input
        input["SoftwareTokenMfaSettings"] = ["Enabled": .bool(isEnabled), "PreferredMfa": .bool(isEnabled)]
        _ = try await call(.setUserMFAPreference, input, for: request, at: .bearer)
    }
}
