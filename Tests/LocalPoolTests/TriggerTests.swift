import Encoding
import Testing

@testable import LocalPool

@Suite("Triggers of the local pool")
struct TriggerTests {
    private func pool(_ trigger: LocalPoolConfiguration.Trigger, for users: [String]? = nil) throws -> TestPool {
        try TestPool { $0.triggers[trigger] = .init(message: "Not now", users: users) }
    }

    @Test(
        "A trigger refuses in Cognito's words",
        arguments: [
            (.preAuthentication, "PreAuthentication failed with error Not now."),
            (.postAuthentication, "PostAuthentication failed with error Not now."),
            (.preTokenGeneration, "PreTokenGeneration failed with error Not now."),
        ] as [(LocalPoolConfiguration.Trigger, String)])
    func signIn(trigger: LocalPoolConfiguration.Trigger, message: String) async throws {
        let refused = PoolError(type: "UserLambdaValidationException", message: message)
        let pool = try pool(trigger)
        #expect(try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email)) == refused)
        let wrong = try await pool.refusal("InitiateAuth", TestPool.signIn(TestPool.email, password: "wrong-horse-1"))
        #expect(wrong == (trigger == .preAuthentication ? refused : .badCredentials), "after the proof, or before it")
    }

    @Test("A trigger for some users refuses no others, whatever the case of their addresses")
    func users() async throws {
        let pool = try pool(.preSignUp, for: ["eve@example.com"])
        let refused = try await pool.refusal("SignUp", TestPool.signUp("Eve@example.com"))
        #expect(refused.message == "PreSignUp failed with error Not now.")
        _ = try await pool.pool.answer("SignUp", TestPool.signUp("ada@example.com"))
    }
}
