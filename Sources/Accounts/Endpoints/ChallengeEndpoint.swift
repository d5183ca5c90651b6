internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing

extension AccountOperation {
    package static let challenge = AccountOperation(
        "challenge", .post, budget: .signIn,
        usualErrors: [.codeMismatch, .codeExpired, .invalidSession, .lockedOut, .throttled])
}

/// The challenges that clients of the gateway can get. Others belong to flows that the gateway does not start.
enum Challenge: String, Sendable, CaseIterable {
    case sms = "SMS_MFA"
    case totp = "SOFTWARE_TOKEN_MFA"
    case email = "EMAIL_OTP"
    case newPassword = "NEW_PASSWORD_REQUIRED"
    case selection = "SELECT_MFA_TYPE"
    case setUp = "MFA_SETUP"
    /// The list of first factors.
    case choice = "SELECT_CHALLENGE"
    case smsCode = "SMS_OTP"
    case password = "PASSWORD"
    case passwordProof = "PASSWORD_SRP"
    case passkey = "WEB_AUTHN"
    case custom = "CUSTOM_CHALLENGE"

    /// The method of a sign-in that begins with this challenge.
    var method: SignInMethod {
        switch self {
        case .email, .smsCode, .choice: .passwordless
        case .passkey: .passkey
        case .custom: .custom
        case .password, .passwordProof, .sms, .totp, .newPassword, .selection, .setUp: .password
        }
    }

    /// Returns whether Cognito may issue the challenge during a sign-in. The list and the password are the gateway's
    /// own.
    func isAsked(_ settings: SignInChoiceSettings) -> Bool {
        switch self {
        case .choice, .password, .passwordProof: false
        case .custom: settings.allowsCustom
        case .sms, .totp, .email, .newPassword, .selection, .setUp, .smsCode, .passkey: true
        }
    }
}

/// `POST challenge`: the response to a challenge.
struct ChallengeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.challenge

    private let challenge: Challenge
    private let answer: ChallengeAnswer
    /// The attributes that the pool requires; only with `NEW_PASSWORD_REQUIRED`.
    private let attributes: [UserAttribute]
    private let device: DeviceInfo?
    private let asked: SealedChallenge
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        call.method = .password
        var fields = try request.fields()
        challenge = fields.oneOf("challenge", Challenge.self) ?? .totp
        let session = Secret(fields.requiredText("session", atMost: SealedText.maximumLength, .address))
        answer = ChallengeAnswer(to: challenge, &fields)
        attributes = challenge == .newPassword ? fields.attributes(accounts.settings.writableAttributes) : []
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        device = fields.device()
        try fields.check()
        call.device = device
        let settings = accounts.settings
        do {
            asked = try SealedChallenge(opening: session, with: accounts.sealingKeys, poolID: settings.poolID)
        } catch {
            try accounts.sealingKeys.requireKey(of: session)
            throw AccountRefusals.endedSession(reason: .account(.invalidChallengeSession))
        }
        (call.account, call.provenDevice) = (asked.account, asked.device?.key)
        if asked.proof != .given { call.method = challenge.method }
        // The device of the sign-in counts if the step does not name it again.
        call.device = device.bound(to: asked.deviceID)
        guard asked.expiresAt > accounts.now() else {
            throw AccountRefusals.endedSession(reason: .account(.expiredChallengeSession))
        }
        if let named = device?.deviceID, let deviceID = asked.deviceID, !named.hasSameBytes(as: deviceID) {
            throw AccountRefusals.endedSession(reason: .account(.otherDevice))
        }
        guard asked.name.hasSameBytes(as: challenge.rawValue) else {
            throw Refusal(
                .invalidParameter, fields: ["challenge": "must be \(asked.name)"], reason: .account(.invalidFields))
        }
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var context = SignInContext(
            account: asked.account, rememberMe: asked.rememberMe, device: device,
            deviceID: asked.deviceID ?? device?.deviceID, credentials: asked.device)
        guard asked.proof == .given else {
            return try await proveFirstFactor(context, accounts, request, &admission)
        }
        // The user has proven the password, and may learn that the account is locked.
        if let seconds = await accounts.flow.accountGuard.identify(&admission, as: asked.username) {
            throw .retryLater(.tooManyRequests, after: seconds, reason: .limit(.lockout))
        }
        var response = cognitoResponse(accounts, request)
        if case .setUpCode(let code) = answer { response.session = try await finishSetUp(code, accounts, request) }
        if case .setUpAddress = answer {
            try await accounts.flow.countMessage(admission.call, isForNewAddress: true)
        }
        // Sessions that began under another name of the user, such as a former address, end as well.
        let names = [asked.account, asked.username]
        let stored = challenge == .newPassword ? try await accounts.storeChangeAtSignIn(named: names, request) : nil
        let answer: AuthenticationAnswer
        do {
            answer = try await accounts.authenticator.respond(&response)
        } catch {
            // If the response was lost, Cognito may have set the password: the sessions end in any case.
            if error.kind == .unavailable { accounts.leave(stored) } else { await accounts.finish(stored) }
            throw accounts.refusal(of: error, at: .challenge, request)
        }
        // Checked before this call itself ends earlier sign-ins.
        let hasEnded = answer.accessClaims.map { accounts.haveEnded(signInsUntil: asked.provenAt, of: $0) } ?? false
        if challenge == .newPassword {
            let haveEnded = await accounts.endSessions(
                before: answer.accessClaims, named: names, requestID: request.requestID)
            if haveEnded { await accounts.finish(stored) } else { accounts.leave(stored) }
        }
        if hasEnded { throw await refuseEnded(answer, accounts, request) }
        context.credentials = response.device
        // A new password is a new proof.
        context.questionsEndAt = challenge == .newPassword ? nil : asked.expiresAt
        return try await accounts.finish(answer, context, request)
    }

    /// Refuses a sign-in that began before all sign-ins of its user were ended: the caller may know only an old
    /// password. Nobody gets its tokens.
    private func refuseEnded(
        _ answer: AuthenticationAnswer, _ accounts: CognitoAccounts, _ request: AccountRequest
    ) async -> Refusal {
        if case .tokens(let result) = answer, let token = result.refreshToken {
            try? await accounts.revokeAtCognito(token, request)
        }
        return AccountRefusals.endedSession(reason: .account(.expiredChallengeSession))
    }

    private func cognitoResponse(_ accounts: CognitoAccounts, _ request: AccountRequest) -> Authenticator.Response {
        var answers = answer.responses(to: challenge)
        for attribute in attributes {
            answers[AuthenticationChallenge.attributePrefix + attribute.name] = .string(attribute.value)
        }
        return Authenticator.Response(
            challenge: asked.name, session: asked.session, username: asked.username, answers: answers,
            device: asked.device, context: accounts.userContext(request), metadata: metadata)
    }

    /// Verifies the authenticator app's first code and returns Cognito's next session.
    private func finishSetUp(
        _ code: Secret, _ accounts: CognitoAccounts, _ request: AccountRequest
    ) async throws(Refusal) -> String {
        let input: JSONObject = ["Session": .string(asked.session), "UserCode": .string(code.exposeText())]
        let output = try await accounts.call(.verifySoftwareToken, input, for: request, at: .challenge)
        guard let session = output["Session"]?.stringValue else {
            throw accounts.unusable("UnexpectedAnswer", request)
        }
        return session
    }

    /// Handles a step before anything is proven. Whatever the error, the refusal is the same as for a user who does not
    /// exist.
    private func proveFirstFactor(
        _ context: SignInContext, _ accounts: CognitoAccounts, _ request: AccountRequest,
        _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        if challenge == .choice {
            return try await accounts.begin(chosen(accounts), context, metadata, request, &admission)
        }
        if case .password(let password) = answer {
            return try await accounts.signIn(
                with: password, as: SignInFactor(exactly: challenge.rawValue), context, metadata, request, &admission)
        }
        let username = asked.username.isEmpty ? nil : asked.username
        let isClosed = await accounts.flow.accountGuard.identify(&admission, as: username) != nil
        let isImpossible = isClosed || asked.proof == .impossible
        var response = cognitoResponse(accounts, request)
        response.username = username ?? accounts.cognitoName(asked.account)
        if isImpossible {
            // As long as the values of an existing user.
            (response.session, response.username, response.device) = (Decoy.session(), Decoy.username(), nil)
        }
        let stage: CallStage = challenge == .email || challenge == .smsCode ? .oneTimeCode : .firstFactor
        let result: AuthenticationAnswer
        do {
            result = try await accounts.authenticator.respond(&response)
        } catch {
            admission.call.wasAnsweredWrong = challenge == .custom && error.kind == .rejectedByTrigger
            throw accounts.refusal(of: error, at: stage, request)
        }
        guard !isImpossible else { throw AccountRefusals.failedFactor(at: stage) }
        if case .challenge(let next) = result, challenge == .custom {
            admission.call.wasAnsweredWrong = next.name.hasSameBytes(as: challenge.rawValue)
        }
        var context = context
        context.credentials = response.device
        return try await accounts.finish(result, context, request)
    }

    private func chosen(_ accounts: CognitoAccounts) throws(Refusal) -> FirstStep {
        let settings = accounts.settings.choice
        guard case .choice(let name) = answer, let factor = SignInFactor(exactly: name),
            settings.factors.contains(factor)
        else {
            throw Refusal(.invalidParameter, fields: ["answer": settings.offer], reason: .account(.invalidFields))
        }
        return .factor(factor)
    }
}
