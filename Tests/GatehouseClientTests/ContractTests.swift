import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("The calls of a gateway, fake or real")
struct ContractTests {
    @Test("A user signs in, and the store keeps the session", arguments: backends)
    func signIn(_ backend: any Backend) async throws {
        let user = try await backend.newUser("sign-in")
        let store = MemoryStore()
        let step = try await backend.client(store).signIn(.email(user.email), password: user.password)
        #expect(step.user?.email == user.email)
        #expect(step.user?.isEmailVerified == true)
        guard case .signedIn(let restored, isFresh: true) = await backend.client(store).restore() else {
            Issue.record("the next start of the app is not signed in")
            return
        }
        #expect(restored == step.user)
    }

    @Test("A wrong password and an unknown user get the same refusal", arguments: backends)
    func wrongPassword(_ backend: any Backend) async throws {
        let user = try await backend.newUser("wrong-password")
        for email in [user.email, "nobody-\(user.email)"] {
            let error = await failure {
                try await backend.client().signIn(.email(email), password: "Wrong-Horse-1-Battery")
            }
            guard case .wrongCredentials(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(refusal.name == "NotAuthorizedException")
            #expect(refusal.message == "Incorrect email or password.")
            #expect(refusal.requestID?.isEmpty == false)
        }
    }

    @Test("An account that is not confirmed cannot sign in", arguments: backends)
    func notConfirmed(_ backend: any Backend) async throws {
        let email = "unconfirmed-\(UUID().uuidString.lowercased())@example.com"
        let client = backend.client()
        let registration = try await client.register(.email(email), password: ben.password)
        #expect(!registration.isConfirmed)
        #expect(registration.delivery?.medium == "EMAIL")
        let error = await failure { try await client.signIn(.email(email), password: ben.password) }
        guard case .notConfirmed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A code confirms a registration and signs the user in with one call", arguments: backends)
    func registration(_ backend: any Backend) async throws {
        let email = "register-\(UUID().uuidString.lowercased())@example.com"
        let client = backend.client()
        _ = try await client.register(.email(email), password: ben.password, fullName: "Ben Example")
        let taken = await failure { _ = try await client.register(.email(email), password: ben.password) }
        guard case .conflict = taken else {
            Issue.record("\(String(describing: taken))")
            return
        }
        let wrong = await failure { try await client.confirm(.email(email), code: "000", password: ben.password) }
        guard case .codeRefused(let refusal) = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
        #expect(refusal.message == "The code is not right, or has expired.")
        #expect(try await client.resendCode(.email(email)).medium == "EMAIL")
        let step = try await client.confirm(
            .email(email), code: backend.code(for: email), password: ben.password)
        #expect(step?.user?.name == "Ben Example")
    }

    @Test("A password that breaks the policy is invalid", arguments: backends)
    func passwordPolicy(_ backend: any Backend) async throws {
        let error = await failure { _ = try await backend.client().register("short@example.com", password: "short") }
        guard case .invalid(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.name == "InvalidPasswordException")
    }

    @Test("A missing field is named", arguments: backends)
    func missingField(_ backend: any Backend) async throws {
        let error = await failure { try await backend.client().signIn("ada@example.com", password: "") }
        guard case .invalid(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.name == "InvalidParameterException")
        #expect(refusal.fields.keys.sorted() == ["password"])
    }

    @Test("An authenticator app is set up, asked for, and removed", arguments: backends)
    func authenticator(_ backend: any Backend) async throws {
        let user = try await backend.newUser("authenticator")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        let key = try await client.setUpAuthenticator()
        try await client.verifyAuthenticator(code: backend.authenticatorCode(for: key.secret.text))
        try await client.setSecondFactors(["SOFTWARE_TOKEN_MFA"], preferred: "SOFTWARE_TOKEN_MFA")
        #expect(try await client.secondFactors().enabled == ["SOFTWARE_TOKEN_MFA"])

        let other = backend.client()
        let step = try await other.signIn(.email(user.email), password: user.password)
        guard case .challenge(let challenge) = step else {
            Issue.record("no challenge")
            return
        }
        #expect(challenge.kind == .authenticatorCode)
        #expect(await other.state.user == nil)
        let right = try await backend.authenticatorCode(for: key.secret.text)
        let wrong = String((Int(right) ?? 0) < 500_000 ? 987_654 : 123_456)
        let refused = await failure { try await other.answer(challenge, with: .code(wrong)) }
        guard case .codeRefused = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(try await other.answer(challenge, with: .code(right)).user?.email == user.email)
        try await other.removeAuthenticator()
        #expect(try await backend.client().signIn(.email(user.email), password: user.password).user != nil)
    }

    @Test("The user is read and changed", arguments: backends)
    func profile(_ backend: any Backend) async throws {
        let user = try await backend.newUser("profile")
        let client = backend.client()
        let begun = try #require(try await client.signIn(.email(user.email), password: user.password).user)
        #expect(try await client.me() == begun)
        let changed = try await client.update(name: "Ada King", attributes: ["locale": "en-GB"])
        #expect(changed.name == "Ada King")
        #expect(changed.attributes["locale"] == "en-GB")
        #expect(await client.state.user == changed)
        let refused = await failure { try await client.update(attributes: ["email": "other@example.com"]) }
        guard case .invalid(let refusal) = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(refusal.fields.isEmpty == false)
        let export = try await client.export()
        #expect(export["user"]?["email"]?.text == user.email)
    }

    @Test("The user's sessions are listed, and another device's is ended", arguments: backends)
    func sessions(_ backend: any Backend) async throws {
        let user = try await backend.newUser("sessions")
        let (first, second) = (backend.client(), backend.client())
        try await first.signIn(.email(user.email), password: user.password)
        try await second.signIn(.email(user.email), password: user.password)
        let listed = try await first.sessions()
        #expect(listed.count == 2)
        #expect(listed.first?.isCurrent == true)
        let other = try #require(listed.last)
        try await first.endSession(other)
        #expect(try await first.sessions().map(\.id) == listed.prefix(1).map(\.id))
        let error = await failure { try await second.refresh() }
        guard case .signedOut(.ended(let reason)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.name == "TokenRefreshException")
    }

    @Test("The user is deleted", arguments: backends)
    func deletion(_ backend: any Backend) async throws {
        let user = try await backend.newUser("deletion")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        try await client.deleteUser()
        #expect(await client.state == .signedOut(.userDeleted))
        let error = await failure { try await client.signIn(.email(user.email), password: user.password) }
        guard case .wrongCredentials = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
