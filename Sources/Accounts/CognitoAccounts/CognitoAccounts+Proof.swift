internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// The proof that the caller is the user, and not somebody with a stolen access token.
extension CognitoAccounts {
    /// Checks the proof that the settings require.
    ///
    /// - Parameter password: the current one; nil if the call has none.
    /// - Throws: 422 for a wrong password, which counts as a guess; 401 if the sign-in is too long ago.
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

    /// Checks the password by a sign-in that stops after the password, and whose session ends at once.
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
            // Nobody has this token, whether or not Cognito revokes it.
            if let token = result.refreshToken { try? await revokeAtCognito(token, request) }
        case .challenge(let challenge):
            guard Self.afterPassword.contains(ExactText(challenge.name)) else {
                throw unusable("UnsupportedChallenge", request)
            }
        }
    }

    /// The challenges that Cognito issues only after a right password.
    private static let afterPassword: Set<ExactText> = [
        "SMS_MFA", "SOFTWARE_TOKEN_MFA", "EMAIL_OTP", "SELECT_MFA_TYPE", "MFA_SETUP",
    ]
}

extension RequestFields {
    /// Reads the current password, which is required if the settings ask for it.
    mutating func proof(_ settings: ContactChangeSettings) -> Secret? {
        guard settings.proof != .password else {
            return Secret(requiredText("current_password", atMost: 256, .password))
        }
        let password = optionalText("current_password", atMost: 256, .password)
        return password.flatMap { $0.isEmpty ? nil : Secret($0) }
    }
}
