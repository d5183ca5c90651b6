internal import Pipeline

/// Sign in with Apple: identity tokens, the gateway's nonces, and Apple's notifications.
package struct AppleSignIn: Sendable {
    package init() {}

    /// A call whose body was read and found well-formed.
    enum Task: Sendable {
        case unserved
    }

    /// Reads a body, and notes whom the call is about.
    func prepare(_ request: SessionRequest, _ call: inout AccountCall) throws(Refusal) -> Task {
        throw Refusal(.notImplemented, reason: "endpoint-without-service")
    }

    func perform(
        _ task: Task, _ sessions: UserSessions?, _ request: SessionRequest, _ call: inout AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        throw Refusal(.notImplemented, reason: "endpoint-without-service")
    }
}
