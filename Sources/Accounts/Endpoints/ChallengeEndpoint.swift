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

/// The challenges that a client of the gateway can be asked. Others belong to flows that the gateway does not start.
enum Challenge: String, Sendable, CaseIterable {
    case sms = "SMS_MFA"
    case totp = "SOFTWARE_TOKEN_MFA"
    case email = "EMAIL_OTP"
    case newPassword = "NEW_PASSWORD_REQUIRED"
    case selection = "SELECT_MFA_TYPE"
    case setUp = "MFA_SETUP"

    enum Answer { case code, newPassword, choice }

    var answer: Answer {
        switch self {
        case .sms, .totp, .email, .setUp: .code
        case .newPassword: .newPassword
        case .selection: .choice
        }
    }
}

/// `POST challenge`: the answer to a question of Cognito's.
struct ChallengeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.challenge

    private let challenge: Challenge
    /// The code, the new password or the choice, as the challenge asks for.
    private let answer: Secret
    /// With `NEW_PASSWORD_REQUIRED`: attributes that the pool wants to have.
    private let attributes: [UserAttribute]
    private let device: DeviceInfo?
    private let asked: SealedChallenge

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        call.method = .password
        var fields = try request.fields()
        challenge = fields.oneOf("challenge", Challenge.self) ?? .totp
        let session = Secret(fields.requiredText("session", atMost: SealedText.maximumLength, .address))
        switch challenge.answer {
        case .code: answer = Secret(fields.requiredText("code", atMost: 128, .code))
        case .newPassword: answer = Secret(fields.requiredText("new_password", atMost: 256, .password))
        case .choice: answer = Secret(fields.requiredText("answer", atMost: 64, .code))
        }
        attributes =
            challenge.answer == .newPassword ? fields.attributes(accounts.settings.writableAttributes) : []
        device = fields.device()
        try fields.check()
        call.device = device
        let settings = accounts.settings
        do {
            asked = try SealedChallenge(opening: session, with: accounts.sealingKeys, poolID: settings.poolID)
        } catch {
            throw AccountRefusals.endedSession(reason: .account(.invalidChallengeSession))
        }
        (call.account, call.provenDevice) = (asked.account, asked.device?.key)
        // The device of the sign-in that this goes on with counts, where the step does not name it again.
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
        // The user who is asked has proven the password already, and may hear it.
        if let seconds = await accounts.flow.accountGuard.identify(&admission, as: asked.username) {
            throw .retryLater(.tooManyRequests, after: seconds, reason: .limit(.lockout))
        }
        let context = SignInContext(
            account: asked.account, rememberMe: asked.rememberMe, device: device,
            deviceID: asked.deviceID ?? device?.deviceID, credentials: asked.device)
        var response = Authenticator.Response(
            challenge: asked.name, session: asked.session, username: asked.username, answers: answers,
            device: asked.device, context: accounts.userContext(request))
        if challenge == .setUp { response.session = try await finishSetUp(accounts, request) }
        let answer: AuthenticationAnswer
        do {
            answer = try await accounts.authenticator.respond(response)
        } catch {
            throw accounts.refusal(of: error, at: .challenge, request)
        }
        return try await accounts.finish(answer, context, request)
    }

    /// The authenticator app's first code.
    private func finishSetUp(
        _ accounts: CognitoAccounts, _ request: AccountRequest
    ) async throws(Refusal) -> String {
        let input: JSONObject = ["Session": .string(asked.session), "UserCode": .string(answer.exposeText())]
        let output = try await accounts.call(.verifySoftwareToken, input, for: request, at: .challenge)
        guard let session = output["Session"]?.stringValue else {
            throw accounts.unusable("UnexpectedAnswer", request)
        }
        return session
    }

    /// The members of `ChallengeResponses` that the client decides.
    private var answers: JSONObject {
        let text = JSON.string(answer.exposeText())
        switch challenge {
        case .sms, .totp, .email: return [challenge.rawValue + "_CODE": text]
        case .setUp: return [:]
        case .selection: return ["ANSWER": text]
        case .newPassword:
            var answers: JSONObject = ["NEW_PASSWORD": text]
            for attribute in attributes { answers["userAttributes.\(attribute.name)"] = .string(attribute.value) }
            return answers
        }
    }
}
