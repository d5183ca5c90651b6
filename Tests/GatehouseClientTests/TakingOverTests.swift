import Foundation
import GatehouseClientTesting
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Returns responses that a test writes, and records the requests.
final class ScriptedTransport: Transport, @unchecked Sendable {
    struct Sent: Equatable {
        var path: String
        var bearer: String?
        var body: [String: JSONValue]
    }

    // Unchecked: `sent` is only used under `lock`.
    private let lock = NSLock()
    private var requests: [Sent] = []
    private let respond: @Sendable (Sent) async throws -> (status: Int, body: JSONValue)

    init(_ respond: @escaping @Sendable (Sent) async throws -> (status: Int, body: JSONValue)) {
        self.respond = respond
    }

    var sent: [Sent] { lock.withLock { requests } }

    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        let body = try request.httpBody.map { try JSONDecoder().decode([String: JSONValue].self, from: $0) }
        let url = try #require(request.url)
        let sent = Sent(
            path: url.path, bearer: request.value(forHTTPHeaderField: "Authorization"), body: body ?? [:])
        lock.withLock { requests.append(sent) }
        let (status, value) = try await respond(sent)
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: [:]))
        return (response, ResponseBody(try JSONEncoder().encode(value)))
    }
}

private struct ClockWithoutPauses: ClientClock {
    var now: Date { Date() }
    var uptime: TimeInterval { SystemClock().uptime }
    func pause(seconds: TimeInterval) async throws {}
}

@Suite("Taking over the tokens of older versions")
struct TakingOverTests {
    private static let user: JSONValue = .object(["id": "6f1a", "email": "ada@example.com"])
    /// With the claims `sub` 6f1a and `exp` 4102444800.
    private static let jwt = "e30.eyJzdWIiOiI2ZjFhIiwiZXhwIjo0MTAyNDQ0ODAwfQ.c2ln"
    private static let tokens: JSONValue = .object([
        "access_token": .string(jwt), "refresh_token": "v2.next", "expires_in": .number(3600),
    ])
    private static let gateway: @Sendable (ScriptedTransport.Sent) -> (status: Int, body: JSONValue) = { sent in
        switch sent.path {
        case "/api/v1/auth/refresh": (200, tokens)
        case "/api/auth/refresh": (200, .object(["token": .string(jwt)]))
        case "/api/v1/auth/me": (200, user)
        case "/api/auth/me": (200, .object(["user": user]))
        default: (404, refusal(404, "NotFound"))
        }
    }

    private static func refusal(_ status: Int, _ name: String) -> JSONValue {
        .object(["error": .string(name), "message": "No.", "statusCode": .number(Double(status))])
    }

    private let keychain = KeychainInMemory()
    private let transport = ScriptedTransport(gateway)

    private func client(
        _ store: (any SessionStore)? = nil, _ transport: ScriptedTransport? = nil
    ) throws -> Gatehouse {
        Gatehouse(
            Configuration(url: try #require(URL(string: "https://api.example.com"))),
            store: store ?? KeychainStore(keychain, service: "new"), transport: transport ?? self.transport,
            clock: ClockWithoutPauses())
    }

    /// A token of the older version in the Keychain.
    private func old(
        _ data: Data = Data("old".utf8),
        token: @escaping @Sendable (Data) -> LegacyToken? = { LegacyToken(String(decoding: $0, as: UTF8.self)) }
    ) -> LegacyTokens {
        let attributes = KeychainQuery(service: "old", account: "token", accessGroup: "TEAM.app")
        keychain.put(KeychainItem(attributes: attributes, accessibility: nil, data: data))
        return .keychain(keychain, service: "old", account: "token", token: token)
    }

    private var services: [String] { keychain.stored.map(\.attributes.service) }

    @Test("A refresh token goes on as a session that the store has, with the user of me, and is removed from its place")
    func refreshToken() async throws {
        let source = old { data in
            let text = String(decoding: data, as: UTF8.self)
            var token = LegacyToken(text)
            (token.clientID, token.deviceKey, token.deviceID) = ("2example", "eu_1", "d-1")
            return token
        }
        let client = try client()
        let user = try await client.takeOver(from: [source])
        #expect(user?.email == "ada@example.com")
        #expect(await client.state == .signedIn(User(fields: Self.user), isFresh: true))
        #expect(services == ["new"])
        let sent = transport.sent
        #expect(sent.map(\.path) == ["/api/v1/auth/refresh", "/api/v1/auth/me"])
        #expect(sent.first?.body["refresh_token"] == "old")
        #expect(sent.first?.body["client_id"] == "2example")
        #expect(sent.first?.body["device_key"] == "eu_1")
        #expect(sent.first?.body["device_info"]?["device_id"] == "d-1")
        #expect(sent.last?.bearer == "Bearer \(Self.jwt)")
        let next = try self.client()
        #expect(await next.restore() == .signedIn(User(fields: Self.user), isFresh: true))
        #expect(await next.device().id == "d-1")
    }

    @Test("A sealed token needs no client and no device key")
    func sealed() async throws {
        _ = try await client().takeOver(from: [old(Data("v2.k1.sealed".utf8))])
        let names = transport.sent.first.map { Set($0.body.keys) }
        #expect(names == ["refresh_token", "device_info"])
        #expect(services == ["new"])
    }

    @Test("A session of Sign in with Apple goes on")
    func appleSession() async throws {
        let client = try client()
        let source = old { data in
            var token = LegacyToken(String(decoding: data, as: UTF8.self))
            token.isSession = true
            return token
        }
        #expect(try await client.takeOver(from: [source])?.email == "ada@example.com")
        #expect(transport.sent.map(\.path) == ["/api/auth/refresh", "/api/auth/me"])
        #expect(transport.sent.first?.bearer == "Bearer old")
        #expect(services == ["new"])
    }

    @Test("Amplify's record gives the refresh token and the device key, as the article decodes it")
    func amplify() async throws {
        let record = #"""
            {"userPoolOnly": {"signedInData": {"deviceMetadata": {"metadata": {"_0": {"deviceKey": "eu_2"}}},
            "cognitoUserPoolTokens": {"accessToken": "a", "idToken": "i", "refreshToken": "r"}}}}
            """#
        let token = try #require(amplifyToken(Data(record.utf8)))
        #expect(token.token == Secret("r"))
        #expect(token.deviceKey == "eu_2")
        #expect(amplifyToken(Data(#"{"noCredentials": {}}"#.utf8)) == nil)
        #expect(amplifyToken(Data("no JSON".utf8)) == nil)
    }

    @Test("A text or data in UserDefaults is taken over, and removed with the keys that belong to it")
    func userDefaults() async throws {
        let suite = "legacy-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        let source = LegacyTokens.userDefaults("refresh", suite: suite, removing: ["access"])
        #expect(try await client().takeOver(from: [source]) == nil)
        defaults.set(Data("data".utf8), forKey: "refresh")
        #expect(try await source.read() == LegacyToken("data"))
        defaults.set("old", forKey: "refresh")
        defaults.set("older", forKey: "access")
        defaults.set("x", forKey: "setting")
        #expect(try await client().takeOver(from: [source]) != nil)
        #expect(defaults.string(forKey: "refresh") == nil)
        #expect(defaults.string(forKey: "access") == nil)
        #expect(defaults.string(forKey: "setting") == "x")
    }

    @Test("The first source that has a token counts")
    func firstSource() async throws {
        let empty = LegacyTokens(read: { nil }, remove: { Issue.record("removed") })
        #expect(try await client().takeOver(from: [empty, old(), empty]) != nil)
        #expect(transport.sent.first?.body["refresh_token"] == "old")
    }

    @Test(
        "Nothing is stored or removed if the gateway does not give a session",
        arguments: [401, 403, 429, 503])
    func refused(_ status: Int) async throws {
        let transport = ScriptedTransport { _ in (status, Self.refusal(status, "TokenRefreshException")) }
        let client = try client(nil, transport)
        let error = try await #require(throws: GatehouseError.self) { try await client.takeOver(from: [self.old()]) }
        #expect(error.gatewayError?.status == status)
        #expect(services == ["old"])
        #expect(await client.state == .signedOut(.notSignedIn))
        // The next launch goes on with it.
        #expect(try await self.client().takeOver(from: [.keychain(keychain, service: "old", account: "token")]) != nil)
        #expect(services == ["new"])
    }

    @Test("Without a network nothing is removed")
    func offline() async throws {
        let transport = ScriptedTransport { _ in throw URLError(.notConnectedToInternet) }
        let source = old()
        let client = try client(nil, transport)
        await #expect(throws: GatehouseError.network(URLError(.notConnectedToInternet))) {
            try await client.takeOver(from: [source])
        }
        #expect(services == ["old"])
    }

    @Test("A launch after one whose responses were lost shows the token from the same device")
    func lostResponses() async throws {
        let transport = ScriptedTransport { _ in throw URLError(.networkConnectionLost) }
        let source = old()
        for _ in 0..<2 {
            let launch = try client(MemoryStore(), transport)
            await #expect(throws: GatehouseError.network(URLError(.networkConnectionLost))) {
                try await launch.takeOver(from: [source])
            }
        }
        let devices = transport.sent.map { $0.body["device_info"]?["device_id"]?.text ?? "none" }
        #expect(devices.count == 4)
        #expect(Set(devices).count == 1 && devices.first != "none")
    }

    @Test("If the session cannot be stored, it is in use, and the old token stays where it is")
    func notStored() async throws {
        let source = old()
        let client = try client()
        _ = await client.restore()
        keychain.failures = [(.add, -25291)]
        let error = try await #require(throws: GatehouseError.self) { try await client.takeOver(from: [source]) }
        #expect(error == .storage("the Keychain returned error -25291"))
        #expect(services == ["old"])
        #expect(await client.state == .signedIn(User(fields: .object(["id": "6f1a"])), isFresh: true))
        // The next use stores it, and the next launch removes the old token.
        #expect(try await client.me().email == "ada@example.com")
        #expect(Set(services) == ["old", "new"])
        #expect(try await self.client().takeOver(from: [source]) == nil)
        #expect(services == ["new"])
        #expect(transport.sent.filter { $0.path.hasSuffix("refresh") }.count == 1)
    }

    @Test("If the stored session cannot be read back, nothing is removed")
    func notReadBack() async throws {
        struct Forgetful: SessionStore {
            func read() -> Data? { nil }
            func replace(_ old: Data?, with new: Data?) -> Bool { true }
        }
        let source = old()
        await #expect(throws: GatehouseError.storage("the session could not be read back")) {
            try await client(Forgetful()).takeOver(from: [source])
        }
        #expect(services == ["old"])
    }

    @Test("A token that cannot be removed is reported, and the session is in use; the next launch removes the token")
    func notRemoved() async throws {
        let source = LegacyTokens(read: { LegacyToken("old") }, remove: { throw StoreFailure.failed("no") })
        let client = try client()
        await #expect(throws: GatehouseError.storage("no")) { try await client.takeOver(from: [source]) }
        #expect(await client.state.user?.id == "6f1a")
        #expect(services == ["new"])
        let other = LegacyTokens(read: { LegacyToken("other") }, remove: { Issue.record("removed") })
        #expect(try await self.client().takeOver(from: [other, old()]) == nil)
        #expect(services == ["new"])
        #expect(transport.sent.filter { $0.path.hasSuffix("refresh") }.count == 1)
    }

    @Test("If only the user cannot be read, the session is in use")
    func withoutUser() async throws {
        let transport = ScriptedTransport { sent in
            sent.path.hasSuffix("refresh") ? (200, Self.tokens) : (503, Self.refusal(503, "ServiceUnavailable"))
        }
        let client = try client(nil, transport)
        let source = old()
        await #expect(throws: GatehouseError.self) { try await client.takeOver(from: [source]) }
        #expect(await client.state.user?.id == "6f1a")
        #expect(services == ["new"])
    }

    @Test("It has no effect after a sign-in or a sign-out")
    func signedInBefore() async throws {
        _ = try await client().takeOver(from: [old()])
        let client = try client()
        _ = await client.restore()
        let source = LegacyTokens(
            read: {
                Issue.record("read")
                return LegacyToken("other")
            }, remove: { Issue.record("removed") })
        #expect(try await client.takeOver(from: [source]) == nil)
        _ = await client.signOut()
        #expect(try await client.takeOver(from: [source]) == nil)
        #expect(try await self.client().takeOver(from: [source]) == nil)
    }

    @Test("Calls at the same time are one")
    func once() async throws {
        let client = try client()
        let source = old()
        async let first = client.takeOver(from: [source])
        async let second = client.takeOver(from: [source])
        _ = try await (first, second)
        #expect(transport.sent.filter { $0.path.hasSuffix("refresh") }.count == 1)
    }

    @Test("A sign-in that comes while the gateway is asked stays, and so does the old token")
    func signInMeanwhile() async throws {
        let (signedIn, signIn) = AsyncStream<Void>.makeStream()
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let transport = ScriptedTransport { sent in
            guard sent.path.hasSuffix("login") else {
                ask.finish()
                for await _ in signedIn {}
                return (200, Self.tokens)
            }
            return (
                200,
                .object([
                    "access_token": "a", "refresh_token": "v2.b", "expires_in": .number(3600),
                    "user": .object(["id": "b"]),
                ])
            )
        }
        let client = try client(nil, transport)
        let source = old()
        let taking = Task { try await client.takeOver(from: [source]) }
        for await _ in asked {}
        _ = try await client.signIn("bob@example.com", password: "x")
        signIn.finish()
        #expect(try await taking.value == nil)
        #expect(await client.state.user?.id == "b")
        #expect(Set(services) == ["old", "new"])
    }

    @Test("Before the first unlock nothing is asked for")
    func locked() async throws {
        keychain.lock = .beforeFirstUnlock
        let source = old()
        _ = try await #require(throws: GatehouseError.self) { try await client().takeOver(from: [source]) }
        #expect(transport.sent.isEmpty)
    }

    @Test("Two processes that take the same token over have one session")
    func twoProcesses() async throws {
        let store = MemoryStore()
        let first = try client(store)
        let second = try client(store)
        _ = await (first.restore(), second.restore())
        let source = LegacyTokens(read: { LegacyToken("old") }, remove: {})
        #expect(try await first.takeOver(from: [source])?.id == "6f1a")
        #expect(try await second.takeOver(from: [source]) == nil)
        #expect(await second.state.user?.id == "6f1a")
        #expect(await first.session?.generation == second.session?.generation)
        #expect(await first.device().id == second.device().id)
    }
}
