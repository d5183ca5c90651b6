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
}
