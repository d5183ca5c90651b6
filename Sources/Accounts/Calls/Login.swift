internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

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
}

extension CognitoAccounts {
    func prepare(_ body: LoginBody, _ call: inout AccountCall) -> AccountTask {
        (call.account, call.device) = (body.email, body.device)
        // One that does not open, has ended, or is another account's, is as good as none: the pool then takes the device
        // for new.
        let device = body.deviceToken.flatMap { text in
            try? SealedDevice(opening: text, with: settings.sealingKeys, poolID: settings.poolID)
        }
        guard let device, !device.hasExpired(at: now()),
            device.account.foldedCase.hasSameBytes(as: body.email.foldedCase)
        else { return .login(body, nil) }
        call.provenDevice = device.credentials.key
        return .login(body, device)
    }

    /// `POST login`: by the configured flow, with the name as typed. An account that is closed, or a name that nobody may
    /// sign in with, fails as a wrong password does, in the same time.
    func login(
        _ body: LoginBody, _ device: SealedDevice?, _ request: AccountRequest, _ call: AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        let context = SignInContext(
            account: body.email, rememberMe: body.rememberMe, device: body.device, deviceID: body.device?.deviceID,
            credentials: device?.credentials)
        var attempt = Authenticator.Attempt(
            username: cognitoName(body.email), password: body.password, device: context.credentials,
            context: userContext(request))
        // Without a proof in two steps only earlier sign-ins can say whose name this is.
        let isClosed = await closedFor(call, as: nil) != nil
        if isClosed {
            // Cognito counts wrong passwords too: not against the user, whose password this is not.
            (attempt.username, attempt.password, attempt.device) = (Decoy.username(), Decoy.password(), nil)
        } else {
            attempt.isClosed = { username in await closedFor(call, as: username) != nil }
        }
        let answer: AuthenticationAnswer
        do {
            answer = try await authenticator.begin(attempt)
        } catch {
            throw refusal(of: error, at: .signIn, request)
        }
        // A trigger of the pool's may let anybody in.
        guard accepts(body.email), !isClosed else { throw Self.wrongCredentials }
        return try await finish(answer, context, request)
    }

    /// For how many seconds the account is closed; nil where it is not.
    func closedFor(_ call: AccountCall, as username: String?) async -> Int? {
        var longest: Int?
        for observer in observers {
            if let seconds = await observer.identified(call, as: username) { longest = max(seconds, longest ?? 0) }
        }
        return longest
    }

    /// Whether the pool's users may sign in with such a name.
    func accepts(_ name: String) -> Bool { AccountNameKind(name).map(settings.acceptedNames.contains) ?? false }

    /// The name for Cognito: as typed, or a name that nobody has in place of one that is not accepted.
    func cognitoName(_ typed: String) -> String { accepts(typed) ? typed : Decoy.username() }

    private static var wrongCredentials: Refusal {
        .tokenInvalid(
            .notAuthorized, message: AccountRefusals.badCredentials, reason: .cognito(.badCredentials))
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
