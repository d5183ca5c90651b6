internal import Encoding
internal import Pipeline

/// An account request whose body was read and found well-formed.
enum AccountCommand: Sendable {
    case login(LoginBody)
    case challenge(ChallengeBody)
    case refresh(RefreshBody)
    case logout(LogoutBody)
    case register(RegisterBody)
    case confirm(ConfirmBody)
    case resendCode(AccountNameBody)
    case forgotPassword(AccountNameBody)
    case resetPassword(ResetPasswordBody)
    case changePassword(ChangePasswordBody)
    case me
    case updateMe(UpdateBody)
    case deleteMe
    case export
    case setUpTOTP
    case verifyTOTP(VerifyCodeBody)
    case removeTOTP

    /// - Parameter writable: the attributes that users may set.
    /// - Throws: 400, 413 or 422, as the body is.
    init(_ request: AccountRequest, writable: WritableAttributes) throws(Refusal) {
        switch request.operation {
        case .login: self = .login(try LoginBody(request.jsonObject()))
        case .challenge: self = .challenge(try ChallengeBody(request.jsonObject(), writable: writable))
        case .refresh: self = .refresh(try RefreshBody(request.jsonObject()))
        // A caller whose bearer says it all may send no body.
        case .logout: self = .logout(try LogoutBody(request.body.isEmpty ? [:] : request.jsonObject()))
        case .register: self = .register(try RegisterBody(request.jsonObject(), writable: writable))
        case .confirm: self = .confirm(try ConfirmBody(request.jsonObject()))
        case .resendCode: self = .resendCode(try AccountNameBody(request.jsonObject()))
        case .forgotPassword: self = .forgotPassword(try AccountNameBody(request.jsonObject()))
        case .resetPassword: self = .resetPassword(try ResetPasswordBody(request.jsonObject()))
        case .changePassword: self = .changePassword(try ChangePasswordBody(request.jsonObject()))
        case .me: self = .me
        case .updateMe: self = .updateMe(try UpdateBody(request.jsonObject(), writable: writable))
        case .deleteMe: self = .deleteMe
        case .export: self = .export
        case .setUpTOTP: self = .setUpTOTP
        case .verifyTOTP: self = .verifyTOTP(try VerifyCodeBody(request.jsonObject()))
        case .removeTOTP: self = .removeTOTP
        }
    }
}
