import Cryptography
import Encoding
import Pipeline
import TestSupport
import Testing

@testable import Sessions

@Suite("What Apple's server tells")
struct AppleNotificationTests {
    typealias Fixture = AppleFixture

    static let rules = AppleNotificationRules(issuer: Fixture.issuer, audiences: [Fixture.app, Fixture.driverApp])
    static let event: JSONObject = [
        "type": "email-enabled", "sub": .string(Fixture.subject), "event_time": 1_779_999_990_123,
        "email": "relay@privaterelay.appleid.com", "is_private_email": "true",
    ]
    static let claims: JSONObject = [
        "iss": .string(Fixture.issuer), "aud": .string(Fixture.app), "iat": .number(JSONNumber(Fixture.now - 10)),
        "jti": "j1", "events": .string(String(decoding: event.encoded(), as: UTF8.self)),
    ]

    static func read(_ changes: [(String, JSON?)]) throws(AppleNotificationError) -> AppleNotification {
        var claims = claims
        for (name, value) in changes { claims[name] = value }
        return try rules.notification(in: claims.encoded(), now: Fixture.now)
    }

    static func error(_ changes: [(String, JSON?)]) -> AppleNotificationError? {
        do throws(AppleNotificationError) {
            _ = try read(changes)
            return nil
        } catch {
            return error
        }
    }

    @Test("The event is a text with JSON in it, or an object")
    func forms() throws {
        let notification = try Self.read([])
        #expect(
            notification
                == AppleNotification(
                    id: "j1", event: .emailEnabled, subject: Fixture.subject, apps: [Fixture.app],
                    email: "relay@privaterelay.appleid.com", isPrivateEmail: true, occurredAt: 1_779_999_990,
                    endsAt: Fixture.now - 10 + 86_400 + 60))
        #expect(try Self.read([("events", .object(Self.event))]) == notification)
    }

    static let types: [(String, AppleNotification.Event)] = [
        ("consent-revoked", .consentRevoked), ("account-delete", .accountDeleted),
        ("account-deleted", .accountDeleted), ("email-disabled", .emailDisabled), ("email-enabled", .emailEnabled),
        ("something-new", .unknown), ("CONSENT-REVOKED", .unknown),
    ]

    @Test("Types are told apart, and new ones are no fault", arguments: types)
    func isOfType(_ test: (String, AppleNotification.Event)) throws {
        let event: JSON = ["type": .string(test.0), "sub": "s"]
        #expect(try Self.read([("events", event)]).event == test.1)
    }

    static let refused: [(changes: [(String, JSON?)], error: AppleNotificationError)] = [
        ([("iss", "https://appleid.apple.com/")], .issuer), ([("iss", nil)], .issuer), ([("iss", 5)], .issuer),
        ([("aud", "com.example.other")], .audience), ([("aud", nil)], .audience), ([("aud", [])], .audience),
        ([("aud", "")], .audience), ([("iat", nil)], .issuedAt), ([("iat", "1780000000")], .issuedAt),
        ([("iat", .number(JSONNumber(Fixture.now + 61)))], .issuedAt),
        ([("iat", .number(JSONNumber(Fixture.now - 86_401)))], .tooOld),
        ([("exp", .number(JSONNumber(Fixture.now - 60)))], .tooOld), ([("exp", "never")], .tooOld),
        ([("nbf", .number(JSONNumber(Fixture.now + 61)))], .issuedAt), ([("nbf", "now")], .issuedAt),
        ([("jti", nil)], .malformed), ([("jti", "")], .malformed), ([("jti", 1)], .malformed),
        ([("jti", .string(String(repeating: "j", count: 256)))], .malformed),
        ([("events", nil)], .malformed), ([("events", "consent-revoked")], .malformed),
        ([("events", [.object(event)])], .malformed), ([("events", "[]")], .malformed),
        ([("events", ["type": "consent-revoked"])], .malformed), ([("events", ["sub": "s"])], .malformed),
        ([("events", ["type": 1, "sub": "s"])], .malformed), ([("events", ["type": "t", "sub": ""])], .malformed),
    ]

    @Test("What is no notification for this gateway is none", arguments: refused)
    func isRefused(_ test: (changes: [(String, JSON?)], error: AppleNotificationError)) {
        #expect(Self.error(test.changes) == test.error)
    }

    @Test("One may have an end of its own, several audiences, and no time of the event")
    func lenient() throws {
        _ = try Self.read([("exp", .number(JSONNumber(Fixture.now + 5)))])
        let several = try Self.read([("aud", ["com.example.other", .string(Fixture.driverApp)])])
        #expect(several.apps == [Fixture.driverApp], "of the gateway's own alone")
        let event: JSON = ["type": "consent-revoked", "sub": "s", "email": "<b>@x"]
        let notification = try Self.read([("events", event)])
        #expect(notification.occurredAt == Fixture.now - 10 && notification.email == nil)
    }

    @Test(
        "An event is as old as it says, unless that can't be: then as old as its message",
        arguments: [
            (-3600, -3600), (-10, -10), (60, -10), (-90_000, -90_000), (-400 * 86_400, -400 * 86_400),
            (-3650 * 86_400, -10), (-Fixture.now, -10), (-Fixture.now - 5, -10),
        ] as [(Int64, Int64)])
    func age(said: Int64, taken: Int64) throws {
        for unit: Int64 in [1000, 1] {
            let event: JSON = [
                "type": "consent-revoked", "sub": "s",
                "event_time": .number(JSONNumber((Fixture.now + said) * unit)),
            ]
            #expect(try Self.read([("events", event)]).occurredAt == Fixture.now + taken)
        }
    }

    @Test("What is no JSON object is none either")
    func noObject() {
        for text in ["", "[]", "null", "{", "\"a\""] {
            #expect(throws: AppleNotificationError.malformed) {
                try Self.rules.notification(in: Array(text.utf8), now: Fixture.now)
            }
        }
    }
}
