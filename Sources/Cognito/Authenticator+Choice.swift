internal import Encoding
internal import Pipeline

// Sign-ins that begin without a password. As with a password, the device is removed from `attempt` if the pool no
// longer knows it.
extension Authenticator {
    /// Begins a sign-in with this first factor (`USER_AUTH`).
    ///
    /// - Parameter factor: the name of the factor's challenge. Cognito returns another challenge if the user lacks the
    ///   factor.
    package func choose(
        _ factor: String, _ attempt: inout Attempt
    ) async throws(CognitoError) -> AuthenticationAnswer {
        try await start("USER_AUTH", preferring: factor, &attempt)
    }

    /// Begins a sign-in with the custom challenges of the pool's triggers (`CUSTOM_AUTH`).
    package func beginCustom(_ attempt: inout Attempt) async throws(CognitoError) -> AuthenticationAnswer {
        try await start("CUSTOM_AUTH", preferring: nil, &attempt)
    }

    private func start(
        _ flow: String, preferring factor: String?, _ attempt: inout Attempt
    ) async throws(CognitoError) -> AuthenticationAnswer {
        var parameters = parameters(of: attempt)
        parameters["PREFERRED_CHALLENGE"] = factor.map(JSON.string)
        do {
            return try await initiate(flow, parameters, attempt)
        } catch {
            try Self.forget(&attempt.device, after: error)
        }
        parameters["DEVICE_KEY"] = nil
        return try await initiate(flow, parameters, attempt)
    }

    func parameters(of attempt: Attempt) -> JSONObject {
        var parameters: JSONObject = ["USERNAME": .string(attempt.username)]
        parameters["SECRET_HASH"] = app.secretHash(attempt.username)
        parameters["DEVICE_KEY"] = attempt.device.map { .string($0.key) }
        return parameters
    }
}
