internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Sealing

/// The part of a sign-in's beginning that its end needs.
struct SignInContext: Sendable {
    /// The name as typed.
    var account: String
    var rememberMe: Bool
    var device: DeviceInfo?
    /// The device's ID when the sign-in began.
    var deviceID: String?
    /// The device's credentials; nil if the pool does not track it.
    var credentials: DeviceCredentials?
    /// The authorization code that the sign-in redeems; nil if there is none.
    var code: RedeemedCode?
    /// The expiry of this sign-in's challenges, in seconds since 1970, if one was answered after a proof; nil before
    /// that.
    var questionsEndAt: Int64?

    struct RedeemedCode: Sendable {
        /// The SHA-256 of the code.
        var hash: [UInt8]
        /// The family of the refresh tokens that begins with the code.
        var family: [UInt8]
    }
}

extension CognitoAccounts {
    /// Returns whether the pool's users may sign in with this kind of name.
    func accepts(_ name: String) -> Bool { AccountNameKind(name).map(settings.acceptedNames.contains) ?? false }

    /// Returns the name for Cognito: the typed one, or a decoy if its kind is not accepted.
    func cognitoName(_ typed: String) -> String { accepts(typed) ? typed : Decoy.username() }

    /// As ``cognitoName(_:)``, for an account that may be unconfirmed. It also accepts names that registrations
    /// generate.
    func registeredName(_ typed: String) -> String { isGeneratedName(typed) ? typed : cognitoName(typed) }

    /// Returns whether the name has the form of those that registrations generate in this pool.
    func isGeneratedName(_ name: String) -> Bool {
        settings.registrationName == .generated && RegistrationName.isGenerated(name)
    }

    /// Returns Cognito's result to the client: tokens, or the next challenge.
    func finish(
        _ answer: AuthenticationAnswer, _ context: SignInContext, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        switch answer {
        case .tokens(let result): try await signedIn(result, context, request)
        case .challenge(let challenge): try await ask(challenge, context, request)
        }
    }

    /// Returns 202 with Cognito's next challenge.
    func ask(
        _ asked: AuthenticationChallenge, _ context: SignInContext, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        guard let kind = Challenge(exactly: asked.name), kind.isAsked(settings.choice) else {
            throw unsupported(asked.name, request)
        }
        guard var session = asked.session else { throw unusable("UnexpectedAnswer", request) }
        if kind == .custom { return try askCustom(asked, .missing, context, request) }
        var parameters = asked.clientParameters
        if kind == .setUp { session = try await beginSetUp(session, context, &parameters, request) }
        if kind == .passkey {
            guard let options = asked.passkeyOptions else { throw unusable("UnreadableOptions", request) }
            parameters["options"] = .object(options)
        }
        let challenge = SealedChallenge(
            name: asked.name, session: session.exposeText(), username: asked.username ?? context.account,
            account: context.account, rememberMe: context.rememberMe,
            deviceID: context.deviceID, device: context.credentials,
            expiresAt: context.questionsEndAt ?? now() + SealedChallenge.lifetime)
        return try give(challenge, parameters, request)
    }

    /// Returns 202 with the challenge sealed into the session.
    func give(
        _ challenge: SealedChallenge, _ parameters: JSONObject, _ request: AccountRequest
    ) throws(Refusal) -> AccountAnswer {
        let text = try sealing(request) { () throws(SealingFailure) in
            try challenge.sealed(with: sealingKeys, poolID: settings.poolID)
        }
        return AccountAnswer(
            .accepted,
            [
                "challenge": .string(challenge.name), "session": .string(text.exposeText()),
                "parameters": .object(parameters),
            ], outcome: .challenged(challenge.name))
    }

    /// Returns 403 for a challenge that the gateway does not support. Trying again does not help; the operator must
    /// change the pool, or the gateway.
    private func unsupported(_ name: String, _ request: AccountRequest) -> Refusal {
        logger.error(
            "Cognito asks for a challenge that is not supported",
            metadata: [
                "request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)",
                "challenge": "\(name.cut(toBytes: 128))",
            ])
        return Refusal(.unsupportedChallenge, reason: .account(.unsupportedChallenge))
    }

    /// Begins the set-up of a second factor during a sign-in. The key of an authenticator app is returned with the
    /// challenge, so that the app's first code answers it. Codes by message require an address from the user.
    private func beginSetUp(
        _ session: Secret, _ context: SignInContext, _ parameters: inout JSONObject, _ request: AccountRequest
    ) async throws(Refusal) -> Secret {
        let methods = parameters["methods"]?.arrayValue ?? []
        guard methods.contains(.string(Challenge.totp.rawValue)) else {
            guard methods.contains(where: { [.string(Challenge.email.rawValue), .string("SMS_MFA")].contains($0) })
            else {
                let names = methods.compactMap(\.stringValue).joined(separator: ",")
                throw unsupported("\(Challenge.setUp.rawValue): \(names)", request)
            }
            return session
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
