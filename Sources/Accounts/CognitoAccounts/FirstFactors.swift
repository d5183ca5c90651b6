internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// The start of a sign-in.
enum SignInStart: Sendable {
    /// With the password in the request: by the configured flow, or as this factor.
    case password(SignInFactor?)
    case step(FirstStep)

    /// Chooses the start from `factor` and the presence of a password.
    init(_ fields: inout RequestFields, _ settings: SignInChoiceSettings) {
        let hasPassword = fields.holdsValue("password")
        guard let name = fields.optionalText("factor", atMost: 64, .code) else {
            self = settings.factors.isEmpty || hasPassword ? .password(nil) : .step(.choice)
            return
        }
        if let factor = SignInFactor(exactly: name), settings.factors.contains(factor) {
            self = factor.isPassword && hasPassword ? .password(factor) : .step(.factor(factor))
        } else if settings.allowsCustom, name.hasSameBytes(as: "CUSTOM") {
            self = .step(.custom)
        } else {
            fields.refuse("factor", settings.offer)
            self = .step(.choice)
        }
    }

    var hasPassword: Bool { if case .password = self { true } else { false } }

    var method: SignInMethod {
        switch self {
        case .password: .password
        case .step(let step): step.method
        }
    }
}

/// The start of a sign-in without a password in the request.
enum FirstStep: Sendable {
    /// The app first shows the list of factors.
    case choice
    case factor(SignInFactor)
    case custom

    var method: SignInMethod {
        switch self {
        case .choice, .factor(.email), .factor(.sms): .passwordless
        case .factor(.passkey): .passkey
        case .factor(.password), .factor(.passwordProof): .password
        case .custom: .custom
        }
    }
}

extension SignInChoiceSettings {
    /// The error for a factor that is not offered.
    var offer: String {
        let names = factors.map(\.rawValue) + (allowsCustom ? ["CUSTOM"] : [])
        return names.isEmpty ? "is not offered" : "must be one of " + names.joined(separator: ", ")
    }
}

// Nothing here may depend on whether the user exists, or on the factors that the user has. The list is the configured
// one, and each factor is requested in the same form. If Cognito returns another challenge or none, the client gets a
// challenge that no response satisfies.
extension CognitoAccounts {
    func begin(
        _ step: FirstStep, _ context: SignInContext, _ metadata: JSON?, _ request: AccountRequest,
        _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        switch step {
        case .choice:
            let methods = JSON.array(settings.choice.factors.map { .string($0.rawValue) })
            return try give(.choice, ["methods": methods], nil, .missing, context, request)
        case .factor(let factor) where factor.isPassword:
            return try give(factor.challenge, [:], nil, .missing, context, request)
        case .factor(let factor):
            return try await begin(factor, context, metadata, request, &admission)
        case .custom:
            return try await beginCustom(context, metadata, request, &admission)
        }
    }

    private func begin(
        _ factor: SignInFactor, _ context: SignInContext, _ metadata: JSON?, _ request: AccountRequest,
        _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        if factor != .passkey { try await flow.countMessage(admission.call) }
        let isClosed = await flow.accountGuard.identify(&admission, as: nil) != nil
        var asked: AuthenticationChallenge?
        var attempt = unproven(context, metadata, isClosed: isClosed, request)
        do throws(CognitoError) {
            let answer = try await authenticator.choose(factor.rawValue, &attempt)
            if case .challenge(let challenge) = answer { asked = challenge }
        } catch {
            if !error.isOfAccount, error.kind != .rejectedByTrigger {
                // Logged for the operator even if the response must not show the error.
                let refusal = refusal(of: error, at: .firstFactor, request)
                guard factor != .passkey, error.isOfMessage else { throw refusal }
            }
        }
        var proof = SealedChallenge.Proof.missing
        if isClosed || !accepts(context.account) || asked?.session == nil
            || asked?.name.hasSameBytes(as: factor.rawValue) != true
        {
            proof = .impossible
        } else if let username = asked?.username,
            await flow.accountGuard.identify(&admission, as: username) != nil
        {
            proof = .impossible
        }
        if factor == .passkey, proof == .missing, case nil = asked?.passkeyOptions?["challenge"]?.stringValue {
            throw unusable("UnreadableOptions", request)
        }
        var context = context
        if !isClosed { context.credentials = attempt.device }
        let shown = factor == .passkey ? passkeyParameters(asked, proof) : factor.parameters(account: context.account)
        return try give(factor.challenge, shown, proof == .missing ? asked : nil, proof, context, request)
    }

    /// Returns the attempt for Cognito: with a decoy name if the account is locked, so that Cognito's own count does
    /// not change.
    private func unproven(
        _ context: SignInContext, _ metadata: JSON?, isClosed: Bool, _ request: AccountRequest
    ) -> Authenticator.Attempt {
        Authenticator.Attempt(
            username: isClosed ? Decoy.username() : cognitoName(context.account), password: Secret(""),
            device: isClosed ? nil : context.credentials, context: userContext(request), metadata: metadata)
    }

    /// Returns options that are the gateway's own, except for the challenge: a list of the user's passkeys would reveal
    /// that the user exists (WebAuthn Level 3, 14.6.2). Cognito registers passkeys that authenticators find without the
    /// list.
    private func passkeyParameters(
        _ asked: AuthenticationChallenge?, _ proof: SealedChallenge.Proof
    ) -> JSONObject {
        let given = asked?.passkeyOptions?["challenge"]?.stringValue
        if let given { passkeyChallenges.note(given) }
        let challenge = proof == .missing ? given : nil
        return [
            "options": [
                "challenge": .string(challenge ?? passkeyChallenges.invented()), "timeout": 180_000,
                "rpId": .string(settings.choice.relyingPartyID), "allowCredentials": [],
                "userVerification": .string(settings.choice.userVerification.rawValue),
            ]
        ]
    }

    /// Begins a custom sign-in. The challenge is shown as Cognito returns it: the response for unknown users is up to
    /// the pool's triggers.
    private func beginCustom(
        _ context: SignInContext, _ metadata: JSON?, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        // Most custom challenges are codes that the pool's trigger sends.
        try await flow.countMessage(admission.call)
        let isClosed = await flow.accountGuard.identify(&admission, as: nil) != nil
        var attempt = unproven(context, metadata, isClosed: isClosed, request)
        let answer: AuthenticationAnswer
        do {
            answer = try await authenticator.beginCustom(&attempt)
        } catch {
            throw refusal(of: error, at: .firstFactor, request)
        }
        var context = context
        if !isClosed { context.credentials = attempt.device }
        guard case .challenge(let challenge) = answer else {
            guard accepts(context.account), !isClosed else { throw AccountRefusals.wrongCredentials() }
            return try await finish(answer, context, request)
        }
        guard challenge.name.hasSameBytes(as: Challenge.custom.rawValue) else {
            return try await ask(challenge, context, request)
        }
        var isImpossible = isClosed || !accepts(context.account)
        if !isImpossible, let username = challenge.username {
            isImpossible = await flow.accountGuard.identify(&admission, as: username) != nil
        }
        return try askCustom(challenge, isImpossible ? .impossible : .missing, context, request)
    }

    func askCustom(
        _ asked: AuthenticationChallenge, _ proof: SealedChallenge.Proof, _ context: SignInContext,
        _ request: AccountRequest
    ) throws(Refusal) -> AccountAnswer {
        guard let parameters = asked.customParameters, asked.session != nil else {
            throw unusable("UnreadableChallenge", request)
        }
        return try give(.custom, parameters, asked, proof, context, request)
    }

    /// Returns 202 with a session of the same length for every user.
    private func give(
        _ name: Challenge, _ parameters: JSONObject, _ asked: AuthenticationChallenge?,
        _ proof: SealedChallenge.Proof, _ context: SignInContext, _ request: AccountRequest
    ) throws(Refusal) -> AccountAnswer {
        let challenge = SealedChallenge(
            name: name.rawValue, session: asked?.session?.exposeText() ?? "", username: asked?.username ?? "",
            account: context.account, rememberMe: context.rememberMe, deviceID: context.deviceID,
            device: context.credentials, expiresAt: now() + SealedChallenge.lifetime, proof: proof)
        return try give(challenge, parameters, request)
    }
}

extension SignInFactor {
    fileprivate var challenge: Challenge {
        switch self {
        case .email: .email
        case .sms: .smsCode
        case .passkey: .passkey
        case .password: .password
        case .passwordProof: .passwordProof
        }
    }

    /// Returns the medium, and the destination if it is the typed name.
    fileprivate func parameters(account: String) -> JSONObject {
        let kind = AccountNameKind(account)
        switch self {
        case .email where kind == .email:
            return ["destination": .string(CodeDelivery.mask(account)), "delivery_medium": "EMAIL"]
        case .sms where kind == .phoneNumber:
            return [
                "destination": .string("+*******" + String(decoding: account.utf8.suffix(4), as: UTF8.self)),
                "delivery_medium": "SMS",
            ]
        case .email: return ["delivery_medium": "EMAIL"]
        case .sms: return ["delivery_medium": "SMS"]
        case .passkey, .password, .passwordProof: return [:]
        }
    }
}
