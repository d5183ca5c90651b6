internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// An account call with everything in it opened and identified: what is left is Cognito's part.
enum AccountTask: Sendable {
    case login(LoginBody, SealedDevice?)
    case challenge(ChallengeBody, SealedChallenge)
    case refresh(Secret, SealedRefreshToken)
    case logout(LogoutBody, SealedRefreshToken?, Caller?)
    case register(RegisterBody)
    case confirm(ConfirmBody)
    case resendCode(AccountNameBody)
    case forgotPassword(AccountNameBody)
    case resetPassword(ResetPasswordBody)
    case changePassword(ChangePasswordBody, Caller)
    case me(Caller)
    case updateMe(UpdateBody, Caller)
    case deleteMe(Caller)
    case export(Caller)
    case setUpTOTP(Caller)
    case verifyTOTP(VerifyCodeBody, Caller)
    case removeTOTP(Caller)
}

/// A caller with an access token of the pool's.
struct Caller: Sendable {
    var token: Secret
    var identity: VerifiedToken

    var subject: String { identity.subject }
    /// `token` as the operations of Cognito's that act for a user take it.
    var input: JSONObject { ["AccessToken": .string(token.exposeText())] }
    var originID: String? { identity.claims["origin_jti"]?.stringValue }
}

extension CognitoAccounts {
    /// Opens what the client holds for the gateway, and notes whom the call is about.
    ///
    /// - Throws: 401 for what does not open, before anyone is asked.
    func prepare(
        _ command: AccountCommand, _ request: AccountRequest, _ call: inout AccountCall
    ) throws(Refusal) -> AccountTask {
        switch command {
        case .login(let body): return prepare(body, &call)
        case .challenge(let body): return try prepare(body, &call)
        case .refresh(let body): return try prepare(body, &call)
        case .logout(let body): return try prepare(body, request, &call)
        case .register(let body):
            (call.account, call.device) = (body.email, body.device)
            return .register(body)
        case .confirm(let body):
            call.account = body.email
            return .confirm(body)
        case .resendCode(let body):
            call.account = body.email
            return .resendCode(body)
        case .forgotPassword(let body):
            call.account = body.email
            return .forgotPassword(body)
        case .resetPassword(let body):
            call.account = body.email
            return .resetPassword(body)
        case .changePassword(let body): return .changePassword(body, try caller(request))
        case .me: return .me(try caller(request))
        case .updateMe(let body): return .updateMe(body, try caller(request))
        case .deleteMe:
            let caller = try caller(request)
            call.session = CalledSession(caller.identity)
            return .deleteMe(caller)
        case .export: return .export(try caller(request))
        case .setUpTOTP: return .setUpTOTP(try caller(request))
        case .verifyTOTP(let body): return .verifyTOTP(body, try caller(request))
        case .removeTOTP: return .removeTOTP(try caller(request))
        }
    }

    /// - Parameter call: the call as observers see it.
    func perform(
        _ task: AccountTask, _ request: AccountRequest, _ call: AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        switch task {
        case .login(let body, let device): try await login(body, device, request, call)
        case .challenge(let body, let asked): try await respond(body, to: asked, request, call)
        case .refresh(let text, let sealed): try await refresh(text, sealed, request)
        case .logout(let body, let sealed, let caller): try await logout(body, sealed, caller, request)
        case .register(let body): try await register(body, request)
        case .confirm(let body): try await confirm(body, request)
        case .resendCode(let body): try await sendCode(.resendConfirmationCode, body, request)
        case .forgotPassword(let body): try await sendCode(.forgotPassword, body, request)
        case .resetPassword(let body): try await resetPassword(body, request)
        case .changePassword(let body, let caller): try await changePassword(body, caller, request)
        case .me(let caller): try await me(caller, request)
        case .updateMe(let body, let caller): try await update(body, caller, request)
        case .deleteMe(let caller): try await delete(caller, request)
        case .export(let caller): try await export(caller, request)
        case .setUpTOTP(let caller): try await setUpTOTP(caller, request)
        case .verifyTOTP(let body, let caller): try await verifyTOTP(body, caller, request)
        case .removeTOTP(let caller): try await removeTOTP(caller, request)
        }
    }

    /// Only this pool's access tokens go to Cognito: no other issuer's token is shown to it.
    func caller(_ request: AccountRequest) throws(Refusal) -> Caller {
        guard let token = request.bearer, let identity = request.identity else { throw .tokenMissing() }
        guard identity.issuer.hasSameBytes(as: settings.issuer), identity.tokenUse == .access else {
            throw .tokenInvalid(
                .notAuthorized, message: "An access token is required.", reason: .account(.notAnAccessToken))
        }
        return Caller(token: token, identity: identity)
    }
}
