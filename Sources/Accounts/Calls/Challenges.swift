internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing

extension CognitoAccounts {
    // MARK: Asking

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
            try challenge.sealed(with: settings.sealingKeys, poolID: settings.poolID)
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

    // MARK: Answers

    func prepare(_ body: ChallengeBody, _ call: inout AccountCall) throws(Refusal) -> AccountTask {
        call.device = body.device
        guard
            let asked = try? SealedChallenge(
                opening: body.session, with: settings.sealingKeys, poolID: settings.poolID)
        else { throw AccountRefusals.endedSession(reason: .account(.invalidChallengeSession)) }
        (call.account, call.provenDevice) = (asked.account, asked.device?.key)
        // The device of the sign-in that this goes on with counts, where the step does not name it again.
        if call.device == nil { call.device = asked.deviceID.map { DeviceInfo(deviceID: $0) } }
        guard asked.expiresAt > now() else {
            throw AccountRefusals.endedSession(reason: .account(.expiredChallengeSession))
        }
        if let device = body.device, let deviceID = asked.deviceID, !device.deviceID.hasSameBytes(as: deviceID) {
            throw AccountRefusals.endedSession(reason: .account(.otherDevice))
        }
        guard asked.name.hasSameBytes(as: body.challenge.rawValue) else {
            throw Refusal(
                .invalidParameter, fields: ["challenge": "must be \(asked.name)"], reason: .account(.invalidFields))
        }
        return .challenge(body, asked)
    }

    /// `POST challenge`.
    func respond(
        _ body: ChallengeBody, to asked: SealedChallenge, _ request: AccountRequest, _ call: AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        // The user who is asked has proven the password already, and may hear it.
        if let seconds = await closedFor(call, as: asked.username) {
            throw .retryLater(.tooManyRequests, after: seconds, reason: .limit(.lockout))
        }
        let context = SignInContext(
            account: asked.account, rememberMe: asked.rememberMe, device: body.device,
            deviceID: asked.deviceID ?? body.device?.deviceID, credentials: asked.device)
        var response = Authenticator.Response(
            challenge: asked.name, session: asked.session, username: asked.username, answers: body.answers,
            device: asked.device, context: userContext(request))
        if body.challenge == .setUp { response.session = try await finishSetUp(body, asked, request) }
        let answer: AuthenticationAnswer
        do {
            answer = try await authenticator.respond(response)
        } catch {
            throw refusal(of: error, at: .challenge, request)
        }
        return try await finish(answer, context, request)
    }

    /// The authenticator app's first code.
    private func finishSetUp(
        _ body: ChallengeBody, _ asked: SealedChallenge, _ request: AccountRequest
    ) async throws(Refusal) -> String {
        let input: JSONObject = [
            "Session": .string(asked.session), "UserCode": .string(body.answer.exposeText()),
        ]
        let output = try await call(.verifySoftwareToken, input, for: request, at: .challenge)
        guard let session = output["Session"]?.stringValue else { throw unusable("UnexpectedAnswer", request) }
        return session
    }
}

extension ChallengeBody {
    /// The members of `ChallengeResponses` that the client decides.
    fileprivate var answers: JSONObject {
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
