internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
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
    /// The authorization code that it is given for.
    var code: RedeemedCode?
    /// When the questions of this sign-in end, in seconds since 1970, where one was answered that followed on a proof.
    var questionsEndAt: Int64?

    struct RedeemedCode: Sendable {
        /// SHA-256 of the code.
        var hash: [UInt8]
        /// The family of refresh tokens that the code begins.
        var family: [UInt8]
    }
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

    /// 202, with the challenge sealed into the session.
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

    /// 403 for a challenge that the gateway cannot carry out. Trying again does not help; the operator must change the
    /// pool, or the gateway.
    private func unsupported(_ name: String, _ request: AccountRequest) -> Refusal {
        logger.error(
            "Cognito asks for a challenge that is not supported",
            metadata: [
                "request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)",
                "challenge": "\(name.cut(toBytes: 128))",
            ])
        return Refusal(.unsupportedChallenge, reason: .account(.unsupportedChallenge))
    }

    /// The set-up of a second factor within a sign-in. The key of an authenticator app comes with the challenge, so that
    /// the app's first code answers it. Codes by message need the address from the user.
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
