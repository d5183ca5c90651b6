internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// The proof that it is the user who asks, and not somebody with a stolen access token.
extension CognitoAccounts {
    /// - Parameter password: the current one; nil where the call has none.
    /// - Throws: 422 for a wrong password, which counts as a guess; 401 for a sign-in that is too long ago.
    func prove(
        _ caller: Caller, with password: Secret?, _ request: AccountRequest
    ) async throws(Refusal) {
        if let password { return try await check(password, of: caller, request) }
        switch settings.contactChange.proof {
        case .none: return
        case .password: throw Self.passwordMissing
        case .recentSignIn:
            let age = settings.contactChange.recentSignIn
            guard Requirements(maximumAge: age).isRecent(caller.identity, now: now()) else {
                throw .authenticationTooOld(maximumAge: age)
            }
        }
    }

    static var passwordMissing: Refusal {
        Refusal(
            .invalidParameter, fields: ["current_password": "is required"], reason: .account(.invalidFields))
    }

    /// By a sign-in that goes no further than the password, and whose session ends at once.
    private func check(
        _ password: Secret, of caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) {
        guard let username = caller.identity.username else {
            throw unusable("UnreadableTokens", request)
        }
        var attempt = Authenticator.Attempt(
            username: username, password: password, context: userContext(request))
        let answer: AuthenticationAnswer
        do {
            answer = try await authenticator.begin(&attempt)
        } catch {
            throw refusal(of: error, at: .passwordChange, request)
        }
        switch answer {
        case .tokens(let result):
            // Nobody has this token, whether Cognito takes it back or not.
            if let token = result.refreshToken { try? await revokeAtCognito(token, request) }
        case .challenge(let challenge):
            guard Self.afterPassword.contains(ExactText(challenge.name)) else {
                throw unusable("UnsupportedChallenge", request)
            }
        }
    }

    /// Cognito's questions that only somebody with the right password is asked.
    private static let afterPassword: Set<ExactText> = [
        "SMS_MFA", "SOFTWARE_TOKEN_MFA", "EMAIL_OTP", "SELECT_MFA_TYPE", "MFA_SETUP",
    ]
}

extension RequestFields {
    /// The current password, which has to be there where the settings ask for it.
    mutating func proof(_ settings: ContactChangeSettings) -> Secret? {
        guard settings.proof != .password else {
            return Secret(requiredText("current_password", atMost: 256, .password))
        }
        let password = optionalText("current_password", atMost: 256, .password)
        return password.flatMap { $0.isEmpty ? nil : Secret($0) }
    }
}
