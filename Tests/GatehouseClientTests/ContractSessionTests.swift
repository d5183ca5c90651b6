import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The sessions of a gateway, fake or real")
struct ContractSessionTests {
    @Test("A refresh gives new tokens that work", arguments: backends)
    func refresh(_ backend: any Backend) async throws {
        let user = try await backend.newUser("refresh")
        let store = MemoryStore()
        let client = backend.client(store)
        try await client.signIn(.email(user.email), password: user.password)
        let before = try #require(storedMembers(store.read()))
        try await client.refresh()
        let after = try #require(storedMembers(store.read()))
        #expect(before["refreshToken"] != after["refreshToken"])
        #expect(before["generation"] == after["generation"])
        #expect(try await client.me().email == user.email)
    }

    @Test("A copy of the store that is left behind by one refresh goes on", arguments: backends)
    func parentGoesOn(_ backend: any Backend) async throws {
        let user = try await backend.newUser("parent")
        let store = MemoryStore()
        let client = backend.client(store)
        try await client.signIn(.email(user.email), password: user.password)
        let copy = MemoryStore(store.read())
        try await client.refresh()
        try await backend.client(copy).refresh()
        let (newest, again) = (storedMembers(store.read()), storedMembers(copy.read()))
        #expect(newest?["refreshToken"] == again?["refreshToken"])
        #expect(try await client.me().email == user.email)
    }

    @Test("A refresh token that was used long ago ends the session, for the gateway's reason", arguments: backends)
    func reuse(_ backend: any Backend) async throws {
        let user = try await backend.newUser("reuse")
        let store = MemoryStore()
        let client = backend.client(store)
        try await client.signIn(.email(user.email), password: user.password)
        let copy = MemoryStore(store.read())
        try await client.refresh()
        try await client.refresh()
        for each in [backend.client(copy), client] {
            let error = await failure { try await each.refresh() }
            guard case .signedOut(.ended(let reason)) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(reason.name == "TokenRefreshException")
            #expect(reason.message == "The session has ended. Sign in again.")
            #expect(await each.state == .signedOut(.ended(reason)))
        }
        #expect(storedMembers(copy.read()) == nil)
    }

    @Test("A sign-out ends the session at the gateway", arguments: backends)
    func signOut(_ backend: any Backend) async throws {
        let user = try await backend.newUser("sign-out")
        let store = MemoryStore()
        let client = backend.client(store)
        try await client.signIn(.email(user.email), password: user.password)
        let copy = MemoryStore(store.read())
        #expect(await client.signOut())
        #expect(await client.state == .signedOut(.requested))
        #expect(storedMembers(store.read()) == nil)
        let error = await failure { try await backend.client(copy).refresh() }
        guard case .signedOut(.ended) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A sign-out everywhere ends the other devices' sessions", arguments: backends)
    func signOutEverywhere(_ backend: any Backend) async throws {
        let user = try await backend.newUser("everywhere")
        let (first, second) = (backend.client(), backend.client())
        try await first.signIn(.email(user.email), password: user.password)
        try await second.signIn(.email(user.email), password: user.password)
        #expect(await first.signOut(everywhere: true))
        let error = await failure { try await second.refresh() }
        guard case .signedOut(.ended) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "A sign-out everywhere ends the other devices' sessions, though another process has refreshed since",
        arguments: backends, SessionKind.allCases)
    func signOutEverywhereShared(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "everywhere-shared")
        let (app, other) = (try await stage.signedIn(kind), try await stage.signedIn(kind, MemoryStore()))
        let appExtension = stage.client()
        for _ in 0..<2 { try await appExtension.refresh() }
        #expect(await app.signOut(everywhere: true))
        #expect(storedMembers(stage.store.read()) == nil)
        let error = await failure { try await other.refresh() }
        guard case .signedOut(.ended) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "A token that was replaced ends no other device's session, and the sign-out everywhere says so",
        arguments: backends, SessionKind.allCases)
    func signOutEverywhereReplaced(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "everywhere-replaced")
        let (app, other) = (try await stage.signedIn(kind), try await stage.signedIn(kind, MemoryStore()))
        let copy = stage.client(MemoryStore(stage.store.read()))
        for _ in 0..<2 { try await app.refresh() }
        #expect(await copy.signOut(everywhere: true) == false)
        #expect(await copy.state == .signedOut(.requested))
        try await other.refresh()
        // It is reuse.
        let error = await failure { try await app.refresh() }
        guard case .signedOut(.ended) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A forgotten password is reset, which ends all sessions", arguments: backends)
    func reset(_ backend: any Backend) async throws {
        let user = try await backend.newUser("reset")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        #expect(try await client.forgotPassword(.email("nobody-\(user.email)")).medium == "EMAIL")
        _ = try await client.forgotPassword(.email(user.email))
        let wrong = await failure {
            try await client.resetPassword(.email(user.email), code: "000", newPassword: "Staple-Horse-10-Battery")
        }
        guard case .codeRefused = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
        try await client.resetPassword(
            .email(user.email), code: backend.code(for: user.email), newPassword: "Staple-Horse-10-Battery")
        let ended = await failure { try await client.refresh() }
        guard case .signedOut(.ended) = ended else {
            Issue.record("\(String(describing: ended))")
            return
        }
        #expect(try await client.signIn(.email(user.email), password: "Staple-Horse-10-Battery").user != nil)
    }

    @Test("A password is changed with the current one only", arguments: backends)
    func changePassword(_ backend: any Backend) async throws {
        let user = try await backend.newUser("change")
        let client = backend.client()
        try await client.signIn(.email(user.email), password: user.password)
        let wrong = await failure {
            try await client.changePassword(from: "Wrong-Horse-1-Battery", to: "Staple-Horse-11-Battery")
        }
        guard case .invalid(let refusal) = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
        #expect(refusal.fields == ["current_password": "is not right"])
        #expect(await client.state.user != nil)
        try await client.changePassword(from: user.password, to: "Staple-Horse-11-Battery")
        #expect(try await client.me().email == user.email)
        #expect(try await backend.client().signIn(.email(user.email), password: "Staple-Horse-11-Battery").user != nil)
    }

    @Test("A junk token is refused as an invalid one", arguments: backends)
    func junkToken(_ backend: any Backend) async throws {
        for (token, challenge) in [("junk", "Bearer error=\"invalid_token\""), (nil, "Bearer")] {
            var request = backend.client().request("/api/v1/auth/me")
            if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
            let (response, body) = try await backend.transport.send(request, uploading: nil)
            var data = Data()
            for try await piece in body { data.append(piece) }
            #expect(response.statusCode == 401)
            #expect(response.value(forHTTPHeaderField: "WWW-Authenticate") == challenge)
            #expect(response.value(forHTTPHeaderField: "Cache-Control") == "no-store")
            let error = try JSONDecoder().decode([String: JSONValue].self, from: data)
            #expect(error.keys.sorted() == ["error", "message", "requestId", "statusCode"])
            #expect(error["requestId"]?.text == response.value(forHTTPHeaderField: "X-Request-Id"))
        }
    }

    @Test("Sign in with Apple begins a session, which is validated, refreshed and ended", arguments: backends)
    func apple(_ backend: any Backend) async throws {
        let store = MemoryStore()
        let client = backend.client(store)
        for fromGateway in [false, true] {
            let nonce = fromGateway ? try await client.appleNonceFromGateway() : client.makeAppleNonce()
            let email = "ada-\(UUID().uuidString.prefix(8).lowercased())@icloud.example"
            let credential = try await backend.appleCredential(email: email, hashedNonce: nonce.hashed)
            let user = try await client.signIn(with: credential, nonce: nonce)
            #expect(user.email == email)
            #expect(user.role == "customer")
            // Each identity token counts once.
            let error = await failure { try await backend.client().signIn(with: credential, nonce: nonce) }
            guard case .wrongCredentials(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.message == "The sign-in with Apple could not be verified.")
        }
        let before = storedMembers(store.read())?["accessToken"]
        try await client.refresh()
        #expect(storedMembers(store.read())?["accessToken"] != before)
        #expect(try await client.validate().role == "customer")
        #expect(try await client.updateSessionUser(name: "Ada King").name == "Ada King")
        #expect(try await client.sessions().count == 1)
        let copy = MemoryStore(store.read())
        #expect(await client.signOut())
        let error = await failure { try await backend.client(copy).refresh() }
        guard case .signedOut(.ended(let reason)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.name == "TokenRefreshException")
    }
}
