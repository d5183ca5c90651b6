internal import Cryptography
internal import HTTPTypes
internal import Pipeline

/// What a sign-in began with, as far as its end depends on it.
struct SignInContext: Sendable {
    /// As it was typed.
    var account: String
    var rememberMe: Bool
    var device: DeviceInfo?
    /// What the device was bound to when the sign-in began.
    var deviceID: String?
    /// What the device proves itself with, where the pool knows it.
    var credentials: DeviceCredentials?
}

extension CognitoAccounts {
    func prepare(_ body: LoginBody, _ call: inout AccountCall) -> AccountTask {
        (call.account, call.device) = (body.email, body.device)
        // One that does not open, or is another account's, is as good as none: the pool then takes the device for new.
        let device = body.deviceToken.flatMap { text in
            try? SealedDevice(opening: text, with: settings.sealingKeys, poolID: settings.poolID)
        }
        guard let device, device.account.foldedCase.hasSameBytes(as: body.email.foldedCase) else {
            return .login(body, nil)
        }
        call.isKnownDevice = true
        return .login(body, device)
    }

    /// `POST login`: by the configured flow, with the name as typed.
    func login(
        _ body: LoginBody, _ device: SealedDevice?, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        let context = SignInContext(
            account: body.email, rememberMe: body.rememberMe, device: body.device, deviceID: body.device?.deviceID,
            credentials: device?.credentials)
        let answer: AuthenticationAnswer
        do {
            answer = try await authenticator.begin(
                Authenticator.Attempt(
                    username: body.email, password: body.password, device: context.credentials,
                    context: userContext(request)))
        } catch {
            throw refusal(of: error, at: .signIn, request)
        }
        return try await finish(answer, context, request)
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
}
