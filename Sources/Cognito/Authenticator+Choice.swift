internal import Encoding
internal import Pipeline

// Sign-ins that begin without a password.
extension Authenticator {
    /// Begins a sign-in with this first factor (`USER_AUTH`).
    ///
    /// - Parameter factor: the name of its challenge. Cognito asks another one where the user does not have it.
    package func choose(_ factor: String, _ attempt: Attempt) async throws(CognitoError) -> AuthenticationAnswer {
        var parameters = parameters(of: attempt)
        parameters["PREFERRED_CHALLENGE"] = .string(factor)
        return try await initiate("USER_AUTH", parameters, attempt)
    }

    /// Begins a sign-in by the challenges of the pool's own triggers (`CUSTOM_AUTH`).
    package func beginCustom(_ attempt: Attempt) async throws(CognitoError) -> AuthenticationAnswer {
        try await initiate("CUSTOM_AUTH", parameters(of: attempt), attempt)
    }

    func parameters(of attempt: Attempt) -> JSONObject {
        var parameters: JSONObject = ["USERNAME": .string(attempt.username)]
        parameters["SECRET_HASH"] = app.secretHash(attempt.username)
        parameters["DEVICE_KEY"] = attempt.device.map { .string($0.key) }
        return parameters
    }
}
