import Encoding
import HTTPTypes
import Pipeline
import Store
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

@Suite("Effects of Apple's notifications")
struct AppleNotificationEffectTests {
    typealias Apple = AppleFixture
    typealias World = AppleSignInTests.World

    /// A notification to the first app, of what the user has just done.
    private static func notify(_ world: World, _ event: JSONObject) async throws -> AccountAnswer {
        var event = event
        event["sub"] = .string(Apple.subject)
        let claims: JSONObject = [
            "iss": .string(Apple.issuer), "aud": .string(Apple.app), "iat": .number(JSONNumber(Apple.now)),
            "jti": "1", "events": .object(event),
        ]
        let body: JSON = ["payload": .string(try Apple.jws(claims))]
        return try await world.endpoints().answer(world.fixture.request(.appleNotifications, nil, body))
    }

    // MARK: Consent

    /// A user with a consent for each of two apps.
    private static func twoConsents() async throws -> World {
        let world = try World(AppleSignInTests.granted("one"), AppleSignInTests.granted("two"))
        let endpoints = try world.endpoints { $0.roles = [:] }
        for app in [Apple.app, Apple.driverApp] {
            let token = try Apple.identityToken([("aud", .string(app))])
            #expect(try await world.signIn(token, code: Apple.code, at: endpoints).status == .ok)
        }
        #expect(try await world.tokens().map(\.clientID) == [Apple.app, Apple.driverApp])
        return world
    }

    @Test("Consent withdrawn from one app leaves the other app's, which is revoked when the user is deleted")
    func consentOfOneApp() async throws {
        let world = try await Self.twoConsents()
        #expect(try await Self.notify(world, ["type": "consent-revoked"]).status == .ok)
        #expect(try await world.tokens().map(\.clientID) == [Apple.driverApp])
        let user = try #require(try await world.user())
        try await world.endpoints().forget(user.id, requestID: "request-2")
        #expect(try await world.revocations().map(\.clientID) == [Apple.driverApp])
    }

    @Test("With the Apple account all its consents have ended, and none is revoked")
    func consentsOfAccount() async throws {
        let world = try await Self.twoConsents()
        #expect(try await Self.notify(world, ["type": "account-delete"]).status == .ok)
        #expect(try await world.user() == nil)
        #expect(try await world.revocations().isEmpty)
    }

    // MARK: Identity tokens

    @Test(
        "An identity token from before a withdrawal or the end of the account begins no session, a later one does",
        arguments: ["consent-revoked", "account-delete"], [true, false])
    func olderIdentityTokens(event: String, isKnown: Bool) async throws {
        let world = try World()
        let jti: (String) -> [(String, JSON?)] = { [("jti", .string($0))] }
        if isKnown { #expect(try await world.signIn(Apple.identityToken(jti("first"))).status == .ok) }
        #expect(try await Self.notify(world, ["type": .string(event)]).status == .ok)
        let refused = try await world.signIn(Apple.identityToken(jti("older")))
        #expect(refused.status == .unauthorized && refused.reason == .token(.revoked))
        #expect(try await (world.user() == nil) == (event == "account-delete" || !isKnown))
        world.fixture.pass(1)
        let later = JSON.number(JSONNumber(Apple.now + 1))
        // The user may have signed in to Apple long before.
        let earlier = JSON.number(JSONNumber(Apple.now))
        let claims: [(String, JSON?)] = [("jti", "later"), ("iat", later), ("auth_time", earlier)]
        #expect(try await world.signIn(Apple.identityToken(claims)).status == .ok)
    }

    @Test("Another user's identity token is none that a notification means, and an event about an address means none")
    func otherIdentityTokens() async throws {
        for (event, subject) in [("email-disabled", Apple.subject), ("consent-revoked", "somebody.else")] {
            let world = try World()
            #expect(try await Self.notify(world, ["type": .string(event)]).status == .ok)
            let token = try Apple.identityToken([("sub", .string(subject))])
            #expect(try await world.signIn(token).status == .ok, "\(event)")
        }
    }

    @Test("A withdrawal that is told after every older token is too old anyway is not noted")
    func lateNotification() async throws {
        let world = try World()
        let time = JSON.number(JSONNumber(Apple.now - 3600))
        #expect(try await Self.notify(world, ["type": "consent-revoked", "event_time": time]).status == .ok)
        #expect(world.fixture.revocations.all.isEmpty)
    }

    // MARK: Addresses

    private static let relay = "relay@privaterelay.appleid.com"
    private static let other = "older@privaterelay.appleid.com"

    /// A user with an address, maybe one that counts as verified no more, an event about one, and the outcome.
    struct AddressCase: Sendable, CustomTestStringConvertible {
        var stored: String?
        var isEnabled = true
        var type: String
        var named: String?
        var email: String?
        var isVerified: Bool
        var isReported = false

        var testDescription: String {
            "\(stored ?? "none")\(isEnabled ? "" : ", disabled"), \(type) \(named ?? "without an address")"
        }
    }

    static let addresses = [
        AddressCase(
            stored: relay, type: "email-disabled", named: relay, email: relay, isVerified: false, isReported: true),
        AddressCase(stored: relay, type: "email-disabled", email: relay, isVerified: false, isReported: true),
        AddressCase(
            stored: relay, isEnabled: false, type: "email-enabled", named: relay, email: relay, isVerified: true,
            isReported: true),
        AddressCase(
            stored: relay, isEnabled: false, type: "email-enabled", email: relay, isVerified: true, isReported: true),
        AddressCase(stored: relay, type: "email-disabled", named: other, email: relay, isVerified: true),
        AddressCase(
            stored: relay, type: "email-disabled", named: "Relay@privaterelay.appleid.com", email: relay,
            isVerified: true),
        AddressCase(stored: relay, type: "email-enabled", named: other, email: relay, isVerified: true),
        AddressCase(
            stored: relay, isEnabled: false, type: "email-enabled", named: other, email: relay, isVerified: false),
        AddressCase(type: "email-disabled", named: other, email: nil, isVerified: false),
        AddressCase(type: "email-enabled", named: other, email: other, isVerified: true, isReported: true),
        AddressCase(type: "email-enabled", email: nil, isVerified: false),
    ]

    @Test(
        "An event changes the stored address only if it is about that one, or enables one where none is stored",
        arguments: addresses)
    func address(_ test: AddressCase) async throws {
        let world = try World()
        let token = try Apple.identityToken([("email", test.stored.map(JSON.string))])
        #expect(try await world.signIn(token).status == .ok)
        let user = try #require(try await world.user())
        if !test.isEnabled {
            let email = VouchedEmail(address: Self.relay, isVerified: false, isPrivate: true)
            _ = try await world.fixture.users.setEmail(email, asOf: Apple.now - 1, of: user.id)
        }
        var event: JSONObject = ["type": .string(test.type)]
        event["email"] = test.named.map(JSON.string)
        let answer = try await Self.notify(world, event)
        #expect(answer.status == .ok && answer.json == ["success": true])
        let changed = try #require(try await world.user())
        #expect(changed.email == test.email && changed.emailVerified == test.isVerified)
        let reported = Self.reported(world)
        #expect((reported != nil) == test.isReported)
        if let reported { #expect(reported.email == test.email && reported.emailVerified == test.isVerified) }
    }

    /// The user of whom others hear by the last call.
    private static func reported(_ world: World) -> AccountUser? {
        guard case .changed(let user) = world.fixture.observer.entries.last?.outcome else { return nil }
        return user
    }

    @Test("An event that is older than the last sign-in changes nothing, and nobody hears of it")
    func olderEvent() async throws {
        let world = try World()
        #expect(try await world.signIn(Apple.identityToken()).status == .ok)
        let user = try await world.user()
        let time = JSON.number(JSONNumber(Apple.now - 3600))
        let event: JSONObject = ["type": "email-disabled", "email": .string(Self.relay), "event_time": time]
        #expect(try await Self.notify(world, event).status == .ok)
        #expect(try await world.user() == user)
        #expect(Self.reported(world) == nil)
    }
}
