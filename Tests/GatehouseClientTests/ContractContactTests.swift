import Foundation
import GatehouseClient
import Testing

@Suite("Addresses and passkeys at a gateway, fake or real")
struct ContractContactTests {
    @Test("The e-mail address is changed by its code", arguments: backends)
    func email(_ backend: any Backend) async throws {
        let user = try await backend.newUser("address")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        let new = "new-\(user.email)"
        let unproven = await failure { try await client.change(.email, to: new) }
        guard case .invalid(let missing) = unproven else {
            Issue.record("\(String(describing: unproven))")
            return
        }
        #expect(missing.fields == ["current_password": "is required"])
        let refused = await failure { try await client.change(.email, to: new, password: "Wrong-Horse-1-Battery") }
        #expect(refused?.gatewayError?.fields == ["current_password": "is not right"])
        let delivery = try await client.change(.email, to: new, password: user.password)
        #expect(delivery.destination == "n***@e***")
        #expect(try await client.me().isEmailVerified == false)
        let wrong = await failure { try await client.verify(.email, code: "000") }
        guard case .codeRefused = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
        #expect(try await client.resendCode(for: .email).medium == "EMAIL")
        let changed = try await client.verify(.email, code: backend.code(for: new))
        #expect(changed.email == new)
        #expect(changed.isEmailVerified)
        #expect(await client.state.user == changed)
        let again = await failure { try await client.change(.email, to: new, password: user.password) }
        #expect(again?.gatewayError?.fields == ["email": "is verified already"])
        #expect(try await backend.client().signIn(.email(new), password: user.password).user?.id == changed.id)
    }

    @Test("The phone number is changed by its code", arguments: backends)
    func phone(_ backend: any Backend) async throws {
        let user = try await backend.newUser("phone")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        let number = "+4915\(Int.random(in: 10_000_000...99_999_999))"
        let delivery = try await client.change(.phoneNumber, to: number, password: user.password)
        #expect(delivery.destination == "+*******\(number.suffix(4))")
        #expect(try await client.resendCode(for: .phoneNumber).medium == "SMS")
        let changed = try await client.verify(.phoneNumber, code: backend.code(for: number))
        #expect(changed.phoneNumber == number)
        #expect(changed.fields["attributes"]?["phone_number_verified"] == .bool(true))
        #expect(await client.state.user == changed)
    }

    @Test("Somebody else's address gets the same response, and is not changed", arguments: backends)
    func taken(_ backend: any Backend) async throws {
        let (user, other) = (try await backend.newUser("user"), try await backend.newUser("taken"))
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        #expect(try await client.change(.email, to: other.email, password: user.password).medium == "EMAIL")
        #expect(try await client.me().email == user.email)
    }

    @Test("A passkey is registered, listed, signs in, and is deleted", arguments: backends)
    func passkey(_ backend: any Backend) async throws {
        let user = try await backend.newUser("passkey")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        #expect(try await client.passkeys().isEmpty)
        let options = try await client.passkeyOptions()
        try await client.addPasskey(backend.passkeyResponse(to: options, email: user.email))
        let listed = try await client.passkeys()
        #expect(listed.map(\.relyingPartyID) == ["auth.example.com"])

        let other = backend.client()
        for isDeleted in [false, true] {
            let step = try await other.signIn(.email(user.email), factor: "WEB_AUTHN")
            guard case .challenge(let challenge) = step else {
                Issue.record("no challenge")
                return
            }
            #expect(challenge.kind == .passkey)
            let asked = try #require(challenge.parameters["options"])
            #expect(asked["rpId"] == "auth.example.com")
            let credential = try await backend.passkeyResponse(to: asked, email: user.email)
            if isDeleted {
                let error = await failure { try await other.answer(challenge, with: .passkey(credential)) }
                guard case .wrongCredentials = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            } else {
                #expect(try await other.answer(challenge, with: .passkey(credential)).user?.email == user.email)
                try await client.deletePasskey(try #require(listed.first).id)
                #expect(try await client.passkeys().isEmpty)
            }
        }
    }

    @Test("A code by e-mail signs in without a password", arguments: backends)
    func code(_ backend: any Backend) async throws {
        let user = try await backend.newUser("code")
        let client = backend.client()
        let step = try await client.signIn(.email(user.email), factor: "EMAIL_OTP")
        guard case .challenge(let challenge) = step else {
            Issue.record("no challenge")
            return
        }
        #expect(challenge.kind == .emailCode)
        #expect(challenge.destination == "c***@e***")
        let wrong = await failure { try await client.answer(challenge, with: .code("000")) }
        guard case .codeRefused = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
        let code = try await backend.code(for: user.email)
        #expect(try await client.answer(challenge, with: .code(code)).user?.email == user.email)
    }
}
