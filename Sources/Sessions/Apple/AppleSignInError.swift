package import Pipeline

extension AppleSignInError {
    /// 401, the same for all: who tries something out learns nothing by it.
    package var refusal: Refusal { Self.refusal(reason: .apple(self)) }

    /// - Parameter reason: a code for the log.
    static func refusal(reason: Reason) -> Refusal {
        .credentialsRefused(message: "The sign-in with Apple could not be verified.", reason: reason)
    }
}
