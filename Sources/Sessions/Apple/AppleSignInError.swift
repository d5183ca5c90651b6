package import Pipeline

extension AppleSignInError {
    /// 401, the same for all errors, so that an attacker learns nothing from it.
    package var refusal: Refusal { Self.refusal(reason: .apple(self)) }

    /// - Parameter reason: a code for the log.
    static func refusal(reason: Reason) -> Refusal {
        .credentialsRefused(message: "The sign-in with Apple could not be verified.", reason: reason)
    }
}
