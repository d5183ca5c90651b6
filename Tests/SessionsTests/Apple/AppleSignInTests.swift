import ClockSteps
import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Sealing
@testable import Sessions

@Suite("Sign-ins with Apple")
struct AppleSignInTests {
    typealias Apple = AppleFixture

    /// Gateway, Apple and what both keep.
    final class World: Sendable {
        let fixture: SessionFixture
        let fetcher: RecordedFetcher

        /// - Parameter answers: Apple's.
        init(_ answers: FetchResponse...) throws {
            fixture = try SessionFixture()
            fixture.pass(Apple.now - SessionFixture.start)
            fetcher = RecordedFetcher(answers.map { .success($0) })
        }

        var grants: AppleGrants {
            get throws { try Apple.grants(fixture.users, fetcher, fixture.log, now: fixture.now) }
        }

        func endpoints(
            keys: (any IssuerKeys)? = nil, records: (any UserSessionRecords)? = nil,
            companions: [any UserCompanion] = [], outboxLimit: Int = 9,
            _ change: (inout AppleSignInSettings) -> Void = { _ in }
        ) throws -> SessionEndpoints {
            let grants = try Apple.grants(
                fixture.users, fetcher, fixture.log, limit: outboxLimit, now: fixture.now)
            return try fixture.endpoints(
                records: records, companions: companions,
                apple: Apple.signIn(
                    fixture.users, fixture.log, grants: grants, keys: keys, now: fixture.now, change))
        }

        func signIn(
            _ token: String, code: String? = nil, _ more: JSONObject = [:], at endpoints: SessionEndpoints? = nil
        ) async throws -> AccountAnswer {
            var body: JSONObject = ["identity_token": .string(token), "nonce": .string(Apple.nonce)]
            body["authorization_code"] = code.map(JSON.string)
            for (name, value) in more { body[name] = value }
            return try await (endpoints ?? self.endpoints()).answer(
                fixture.request(.appleSignIn, nil, .object(body)))
        }

        /// The tokens to revoke at Apple.
        func revocations() async throws -> [AppleRevocation] {
            try await StoredOutbox(fixture.store).claim(
                for: "apple", now: 1 << 60, lease: 0, longestPause: 0, limit: 100
            )
            .compactMap { AppleRevocation(text: $0.body) }
        }

        func user() async throws -> UserRecord? {
            try await fixture.users.user(issuer: Apple.issuer, subject: Apple.subject)
        }

        func tokens() async throws -> [AppleTokenRecord] {
            guard let user = try await user() else { return [] }
            return try await fixture.users.appleTokens(of: user.id)
        }
    }

    static func granted(_ token: String = "apple-refresh-token", subject: String = Apple.subject) -> FetchResponse {
        let idToken = "e30." + Base64URL.encode((["sub": .string(subject)] as JSON).encoded()) + ".eA"
        let body: JSON = ["refresh_token": .string(token), "id_token": .string(idToken)]
        return FetchResponse(status: 200, body: body.encoded())
    }

    static func failure(_ error: String, status: Int = 400) -> FetchResponse {
        FetchResponse(status: status, body: (["error": .string(error)] as JSON).encoded())
    }

    @Test("Apple's refresh token is kept sealed, for its user and app alone, and is in no log")
    func sealedToken() async throws {
        let world = try World(Self.granted())
        let answer = try await world.signIn(Apple.identityToken(), code: Apple.code, ["name": "Ada"])
        #expect(answer.status == .ok && answer.json["user"]?["name"] == "Ada")
        let (user, withRecords) = (try #require(try await world.user()), try #require(try await world.tokens().first))
        #expect(
            withRecords.clientID == Apple.app && withRecords.storedAt == Apple.now
                && withRecords.validatedAt == Apple.now)
        #expect(!String(decoding: withRecords.token, as: UTF8.self).contains("apple-refresh-token"))
        let ring = try Fixture.ring()
        let opened = try SealedAppleToken.open(withRecords.token, userID: user.id, clientID: Apple.app, with: ring)
        #expect(opened.exposeText() == "apple-refresh-token")
        for (userID, clientID) in [("other", Apple.app), (user.id, Apple.driverApp)] {
            #expect(throws: InvalidSealedToken.self) {
                try SealedAppleToken.open(withRecords.token, userID: userID, clientID: clientID, with: ring)
            }
        }
        #expect(!world.fixture.log.lines.contains { $0.contains("apple-refresh-token") || $0.contains(Apple.code) })
    }

    static let lost: [(name: String, answer: FetchResponse)] = [
        ("a used code", failure("invalid_grant")), ("an outage", failure("server_error", status: 503)),
        ("another fault", failure("invalid_request")), ("another user's code", granted(subject: "somebody")),
        ("no user", FetchResponse(status: 200, body: Array(#"{"refresh_token":"r"}"#.utf8))),
    ]

    @Test("A code that is worth nothing takes nothing from the sign-in", arguments: lost)
    func lostCode(_ test: (name: String, answer: FetchResponse)) async throws {
        let world = try World(test.answer)
        #expect(try await world.signIn(Apple.identityToken(), code: Apple.code).status == .ok, "\(test.name)")
        #expect(try await world.tokens().isEmpty)
        #expect(world.fixture.log.lines.contains { $0.contains("authorization code") })
    }

    @Test("A gateway that Apple does not know is at fault itself, and nothing is used up")
    func misconfigured() async throws {
        let world = try World(Self.failure("invalid_client"), Self.granted())
        let token = try Apple.identityToken()
        let refused = try await world.signIn(token, code: Apple.code)
        #expect(refused.status.code == 503 && refused.reason?.code == "apple-client-refused")
        #expect(world.fixture.log.lines.contains { $0.hasPrefix("error") && $0.contains("sign_in.apple.server") })
        #expect(try await world.user() == nil)
        #expect(try await world.signIn(token, code: Apple.code).status == .ok)
    }

    @Test("Apple is not asked for what proves nothing, or was used before")
    func notAsked() async throws {
        let world = try World(Self.granted())
        let token = try Apple.identityToken()
        #expect(try await world.signIn(token, code: Apple.code).status == .ok)
        let again = try await world.signIn(token, code: Apple.code)
        #expect(again.status == .unauthorized && again.reason?.code == "identity-token-replayed")
        _ = try await world.signIn(Apple.identityToken([("jti", "2")]), code: Apple.code, ["nonce": "another"])
        #expect(await world.fetcher.requests.count == 1)
    }

    @Test("What Apple gave is kept for a user who is known, also when the sign-in comes to nothing")
    func conflict() async throws {
        let world = try World(Self.granted("one"), Self.granted("two"))
        #expect(try await world.signIn(Apple.identityToken(), code: Apple.code).status == .ok)
        let other = try Apple.identityToken([("aud", .string(Apple.driverApp))])
        let refused = try await world.signIn(other, code: Apple.code)
        #expect(refused.status == .conflict && refused.json["message"] == "Use the other app.")
        #expect(try await world.tokens().map(\.clientID) == [Apple.app, Apple.driverApp])
    }

    @Test("What Apple gave for a sign-in that could not be kept is there when the same is tried again, and only then")
    func triedAgain() async throws {
        let world = try World(Self.granted("first"), Self.failure("invalid_grant"))
        let failing = FailingRecords(world.fixture.users)
        let endpoints = try world.endpoints(records: failing)
        let token = try Apple.identityToken()
        failing.failing.withLock { $0 = .writing }
        #expect(try await world.signIn(token, code: Apple.code, at: endpoints).status.code == 503)
        #expect(try await world.user() == nil)
        failing.failing.withLock { $0 = nil }
        let other = try Apple.identityToken([("jti", "2"), ("sub", "somebody")])
        #expect(try await world.signIn(other, code: Apple.code, at: endpoints).status == .ok)
        #expect(try await world.tokens().isEmpty)
        #expect(try await world.signIn(token, code: Apple.code, at: endpoints).status == .ok)
        let (user, withRecords) = (try #require(try await world.user()), try #require(try await world.tokens().first))
        let opened = try SealedAppleToken.open(
            withRecords.token, userID: user.id, clientID: Apple.app, with: Fixture.ring())
        #expect(opened.exposeText() == "first")
        #expect(await world.fetcher.requests.count == 2, "a code is exchanged once")
    }

    @Test("What is held for another try ends with its identity token, and there is room for so many")
    func unusedGrants() {
        let unused = UnusedGrants()
        #expect(unused.keep(Secret("a"), for: [1], until: 10, now: 5))
        #expect(unused.take(for: [1], now: 10) == nil && unused.take(for: [1], now: 5) == nil)
        for number in 0..<UnusedGrants.limit {
            #expect(unused.keep(Secret("b"), for: Array("\(number)".utf8), until: 10, now: 5))
        }
        #expect(!unused.keep(Secret("c"), for: [1], until: 20, now: 9))
        #expect(unused.keep(Secret("c"), for: [1], until: 20, now: 10))
        #expect(unused.take(for: [1], now: 11)?.exposeText() == "c")
    }

    /// Records that can't be used.
    struct Broken: SingleUseRecords {
        struct Fault: Error {}
        func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool { throw Fault() }
        func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep { throw Fault() }
        func isSpent(_ digest: [UInt8]) async throws -> Bool { throw Fault() }
    }

    @Test("Without records nobody gets in, and the client may try again")
    func broken() async throws {
        let world = try World()
        for mode in [AppleSignInSettings.Mode.terminate, .forward] {
            let apple = try Apple.signIn(
                world.fixture.users, world.fixture.log, grants: world.grants, spent: Broken()
            ) { $0.mode = mode }
            let endpoints = try world.fixture.endpoints(apple: apple)
            let answer = try await world.signIn(Apple.identityToken(), code: Apple.code, at: endpoints)
            #expect(answer.status.code == 503 && answer.reason?.code == "session-records-unavailable")
            #expect(answer.forwarding == nil)
        }
    }

    @Test("Without keys it is nobody's fault; an unknown key is the token's")
    func keys() async throws {
        let world = try World()
        let none = try await world.signIn(
            Apple.identityToken(), at: world.endpoints(keys: Apple.Keys(currentSet: nil)))
        #expect(none.status.code == 503 && none.reason?.code == "keys-unavailable")
        let other = try KeySet(jwks: Array(#"{"keys":[]}"#.utf8), generation: 2)
        let unknown = try await world.signIn(
            Apple.identityToken(), at: world.endpoints(keys: Apple.Keys(currentSet: other)))
        #expect(unknown.status == .unauthorized && unknown.reason?.code == "unknown-key")
    }

    @Test("A nonce is the gateway's own, unended and unused where it must be", arguments: ClockSteps.passing)
    func serverNonce(steps: ClockSteps) async throws {
        let world = try World()
        let required = try world.endpoints { $0.serverNonce = .required }
        let given = await required.answer(world.fixture.request(.appleNonce, nil)).json
        let nonce = try #require(given["nonce"]?.stringValue)
        #expect(given["expires_in"] == 300)
        func token(_ id: String) throws -> String {
            let claim = Hexadecimal.encode(SHA256.hash(Array(nonce.utf8)))
            return try Apple.identityToken([("nonce", .string(claim)), ("jti", .string(id))])
        }
        let body: JSONObject = ["nonce": .string(nonce)]
        #expect(try await world.signIn(Apple.identityToken(), at: required).reason?.code == "nonce-unknown")
        try await world.fixture.take(steps)
        #expect(try await world.signIn(token("1"), body, at: required).status == .ok)
        try await world.fixture.take(steps)
        #expect(try await world.signIn(token("2"), body, at: required).reason?.code == "nonce-reused")
        world.fixture.pass(300)
        let late = try await world.signIn(
            token("3"), body, at: world.endpoints { $0.maximumTokenAge = 86_400 })
        #expect(late.reason?.code == "nonce-expired", "also where none is required")
        let off = try await world.signIn(token("4"), body, at: world.endpoints { $0.serverNonce = .off })
        #expect(off.status == .ok)
    }

    @Test("A backend's sign-in is verified and used up, and goes on as the user's with the app's role")
    func forward() async throws {
        let world = try World()
        let endpoints = try world.endpoints { $0.mode = .forward }
        let token = try Apple.identityToken()
        let answer = try await world.signIn(token, at: endpoints)
        guard case .verified(let verified) = answer.forwarding else {
            Issue.record("not forwarded")
            return
        }
        #expect(verified.subject == Apple.subject && verified.groups == ["customer"] && verified.proof != nil)
        #expect(try await world.signIn(token, at: endpoints).reason?.code == "identity-token-replayed")
        #expect(try await world.user() == nil)
        #expect(try await world.signIn(token, ["userIdentifier": "x"], at: endpoints).forwarding == nil)
    }

    static let legacy: [(body: JSON, goesOn: Bool)] = [
        (["userIdentifier": "001"], true), (["userIdentifier": "001", "identity_token": .null], true),
        (["userIdentifier": ""], false), (["userIdentifier": 5], false), ([:], false),
        (["userIdentifier": "001", "identity_token": ""], false),
        (["userIdentifier": "001", "identity_token": "a.b.c", "nonce": "n"], false),
    ]

    @Test(
        "A sign-in that proves nothing goes on as nobody's only where it may, and never with a token", arguments: legacy
    )
    func legacySignIn(_ test: (body: JSON, goesOn: Bool)) async throws {
        let world = try World()
        let request = world.fixture.request(.appleSignIn, nil, test.body)
        let open = try await world.endpoints { $0.forwardsLegacy = true }.answer(request)
        if case .unverified = open.forwarding { #expect(test.goesOn) } else { #expect(!test.goesOn) }
        let closed = try await world.endpoints().answer(request)
        #expect(closed.forwarding == nil && [401, 422].contains(closed.status.code))
    }
}
