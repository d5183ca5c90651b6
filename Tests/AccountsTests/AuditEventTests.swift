import Cognito
import Encoding
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Telemetry

@Suite("Which audit events an account call leads to")
struct AuditEventTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var operation: AccountOperation
        var outcome: AccountOutcome
        var events: [String]
        var testDescription: String { "\(operation) \(outcome) \(events)" }

        init(_ operation: AccountOperation, _ outcome: AccountOutcome, _ events: String...) {
            self.operation = operation
            self.outcome = outcome
            self.events = events
        }

        init(_ operation: AccountOperation, refused code: String, _ events: String...) {
            self.operation = operation
            outcome = .refused(.notAuthorized, reason: .with(code))
            self.events = events
        }
    }

    static let user = AccountUser(
        id: "s-1", username: "u", email: nil, emailVerified: false, name: nil, groups: [], attributes: [:])

    static func events(_ operation: AccountOperation, _ outcome: AccountOutcome, locks: Bool = false) -> [AuditEvent] {
        var call = AccountCall(
            AccountRequest(
                operation: operation, requestID: "r-1", clientAddress: "192.0.2.7", userAgent: "MyApp/1 (x)"),
            poolID: "pool")
        call.account = "ada@example.com"
        call.device = DeviceInfo(deviceID: "d-1", platform: "ios")
        return AuditEvent.events(of: call, outcome, locks: locks)
    }

    @Test(
        "By call and outcome",
        arguments: [
            Case(.login, .signedIn(user), "signed_in"),
            Case(.challenge, .signedIn(user), "signed_in"),
            Case(.login, .challenged("SMS_MFA")),
            Case(.login, refused: "bad-credentials", "sign_in_failed"),
            Case(.login, refused: "user-not-found", "sign_in_failed"),
            Case(.login, refused: "provider-unavailable", "sign_in_failed"),
            Case(.login, refused: "rate-limited-address", "sign_in_failed"),
            Case(.login, refused: "account-locked", "locked_out"),
            Case(.login, refused: "locked-out", "locked_out"),
            Case(.challenge, refused: "code-mismatch", "sign_in_failed"),
            Case(.login, refused: "invalid-fields"),
            Case(.login, refused: "malformed-json"),
            Case(.logout, .succeeded, "signed_out"),
            Case(.logout, refused: "refresh-token-reused", "refresh_reused"),
            Case(.logout, refused: "expired-refresh-token"),
            Case(.register, .succeeded, "registered"),
            Case(.register, refused: "username-exists"),
            Case(.confirm, .succeeded, "confirmed"),
            Case(.resetPassword, .succeeded, "password_reset"),
            Case(.changePassword, .succeeded, "password_changed"),
            Case(.refresh, .succeeded, "refreshed"),
            Case(.refresh, .givenAgain, "refresh_given_again"),
            Case(.refresh, refused: "refresh-token-reused", "refresh_reused"),
            Case(.refresh, refused: "token-reused", "refresh_reused"),
            Case(.refresh, refused: "other-device", "refresh_reused"),
            Case(.refresh, refused: "expired-refresh-token", "session_expired"),
            Case(.refresh, refused: "session-ended", "session_expired"),
            Case(.refresh, refused: "session-too-old", "session_expired"),
            Case(.refresh, refused: "session-idle", "session_expired"),
            Case(.refresh, refused: "token-revoked", "session_expired"),
            Case(.refresh, refused: "provider-unavailable"),
            Case(.refresh, refused: "invalid-refresh-token"),
            Case(.deleteMe, .succeeded, "user_deleted"),
            Case(.export, .succeeded, "user_exported"),
            Case(.me, .succeeded),
            Case(.updateMe, .shown(user), "user_changed"),
            Case(.me, .shown(user)),
            Case(EmailAttribute.verify, .shown(user), "email_changed"),
            Case(PhoneAttribute.verify, .shown(user), "phone_number_changed"),
            Case(.setSecondFactors, .succeeded, "second_factors_changed"),
            Case(.setSecondFactors, .shown(user), "second_factors_changed"),
            Case(.verifyTOTP, .succeeded, "second_factors_changed"),
            Case(.removeTOTP, .succeeded, "second_factors_changed"),
            Case(.registerPasskey, .succeeded, "passkey_registered"),
            Case(.registerPasskey, refused: "invalid-parameter"),
            Case(.deletePasskey, .succeeded, "passkey_deleted"),
            Case(.passkeys, .succeeded),
            Case(.passkeyOptions, .succeeded),
            Case(EmailAttribute.change, .succeeded),
            Case(EmailAttribute.change, refused: "bad-credentials", "sign_in_failed"),
            Case(PhoneAttribute.change, refused: "account-locked", "locked_out"),
            Case(.changePassword, refused: "bad-credentials", "sign_in_failed"),
            Case(EmailAttribute.verify, refused: "code-mismatch"),
            Case(.endSession, .succeeded, "sessions_ended"),
            Case(.endOtherSessions, .succeeded, "sessions_ended"),
            Case(.forgotPassword, .succeeded),
        ])
    func kinds(example: Case) {
        #expect(Self.events(example.operation, example.outcome).map(\.kind.rawValue) == example.events)
    }

    @Test("The failure that locks an account is told as well")
    func locks() {
        let events = Self.events(.login, .refused(.notAuthorized, reason: .cognito(.badCredentials)), locks: true)
        #expect(events.map(\.kind) == [.signInFailed, .lockedOut])
        #expect(events.map(\.reason) == ["bad-credentials", "too-many-failures"])
    }

    static let translated: [(operation: String, attribute: String?, events: [String])] = [
        ("SetUserMFAPreference", nil, ["second_factors_changed"]),
        ("SetUserSettings", nil, ["second_factors_changed"]),
        ("VerifySoftwareToken", nil, ["second_factors_changed"]),
        ("VerifyUserAttribute", "email", ["email_changed"]),
        ("VerifyUserAttribute", "phone_number", ["phone_number_changed"]),
        ("GetUserAttributeVerificationCode", "phone_number", []),
        ("CompleteWebAuthnRegistration", nil, ["passkey_registered"]),
        ("DeleteWebAuthnCredential", nil, ["passkey_deleted"]),
        ("StartWebAuthnRegistration", nil, []), ("ListWebAuthnCredentials", nil, []), ("GetUserAuthFactors", nil, []),
        ("ListDevices", nil, []), ("GetDevice", nil, []), ("ConfirmDevice", nil, []), ("ForgetDevice", nil, []),
        ("UpdateDeviceStatus", nil, []), ("DeleteUserAttributes", nil, ["user_changed"]),
        ("UpdateUserAttributes", nil, ["user_changed"]),
    ]

    @Test("A translated call has the event of what it does", arguments: translated.indices)
    func translatedCalls(index: Int) {
        let (name, attribute, events) = Self.translated[index]
        let operation = ClientOperation.accountOperation(of: name, attribute: attribute)
        #expect(Self.events(operation, .succeeded).map(\.kind.rawValue) == events, "\(name)")
    }

    @Test("An event has all that is known of its call")
    func content() {
        let event = Self.events(.login, .signedIn(Self.user)).first
        #expect(event?.account == "ada@example.com")
        #expect(event?.device == .init(id: "d-1", platform: "ios"))
        #expect(event?.address == "192.0.2.7")
        #expect(event?.application == "MyApp/1")
        #expect(event?.operation == "login")
        #expect(event?.requestID == "r-1")
    }
}
