internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing

/// The beginning of a sign-in, as far as its end depends on it.
struct SignInContext: Sendable {
    /// As it was typed.
    var account: String
    var rememberMe: Bool
    var device: DeviceInfo?
    /// The device's id when the sign-in began.
    var deviceID: String?
    /// The device's credentials, if the pool knows it.
    var credentials: DeviceCredentials?
    /// The family of its refresh tokens, where it has been chosen before.
    var family: [UInt8]?
}

extension CognitoAccounts {
    /// Whether the pool's users may sign in with such a name.
    func accepts(_ name: String) -> Bool { AccountNameKind(name).map(settings.acceptedNames.contains) ?? false }

    /// The name for Cognito: as typed, or a name that nobody has in place of one that is not accepted.
    func cognitoName(_ typed: String) -> String { accepts(typed) ? typed : Decoy.username() }

    /// The name of an account that may not be confirmed yet, for Cognito: also one that a registration made.
    func registeredName(_ typed: String) -> String { isGeneratedName(typed) ? typed : cognitoName(typed) }

    /// Whether it has the form of the names that registrations make in this pool.
    func isGeneratedName(_ name: String) -> Bool {
        settings.registrationName == .generated && RegistrationName.isGenerated(name)
    }

    /// Gives the client what Cognito gave: tokens, or the next question.
    func finish(
        _ answer: AuthenticationAnswer, _ context: SignInContext, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        switch answer {
        case .tokens(let result): try await signedIn(result, context, request)
        case .challenge(let challenge): try await ask(challenge, context, request)
        }
    }

    /// 202: what Cognito wants to know before it gives tokens.
    func ask(
        _ asked: AuthenticationChallenge, _ context: SignInContext, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        guard let kind = Challenge(exactly: asked.name), var session = asked.session else {
            throw unusable("UnsupportedChallenge", request)
        }
        var parameters = asked.clientParameters
        if kind == .setUp { session = try await beginSetUp(session, context, &parameters, request) }
        let challenge = SealedChallenge(
            name: asked.name, session: session.exposeText(), username: asked.username ?? context.account,
            account: context.account, rememberMe: context.rememberMe,
            deviceID: context.deviceID, device: context.credentials, expiresAt: now() + SealedChallenge.lifetime)
        let text = try sealing(request) { () throws(SealingFailure) in
            try challenge.sealed(with: sealingKeys, poolID: settings.poolID)
        }
        return AccountAnswer(
            .accepted,
            [
                "challenge": .string(asked.name), "session": .string(text.exposeText()),
                "parameters": .object(parameters),
            ], outcome: .challenged(asked.name))
    }

    /// The only second factor that can be set up within a sign-in is an authenticator app: its key comes with the
    /// challenge, so that the app's first code answers it.
    private func beginSetUp(
        _ session: Secret, _ context: SignInContext, _ parameters: inout JSONObject, _ request: AccountRequest
    ) async throws(Refusal) -> Secret {
        let methods = parameters["methods"]?.arrayValue ?? []
        guard methods.contains(.string(Challenge.totp.rawValue)) else {
            throw unusable("UnsupportedSetUp", request)
        }
        let output = try await call(
            .associateSoftwareToken, ["Session": .string(session.exposeText())], for: request, at: .challenge)
        guard let key = output["SecretCode"]?.stringValue, let next = output["Session"]?.stringValue else {
            throw unusable("UnexpectedAnswer", request)
        }
        parameters["secret"] = .string(key)
        parameters["otpauth_uri"] = .string(
            AuthenticatorKey(secret: key, account: context.account, issuer: settings.totpIssuer).uri)
        return Secret(next)
    }
}
