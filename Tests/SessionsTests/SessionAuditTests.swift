import Encoding
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions
@testable import Telemetry

@Suite("Which audit events a call of sessions leads to")
struct SessionAuditTests {
    static let user = AccountUser(
        id: "s-1", username: "u", email: nil, emailVerified: false, name: nil, groups: [], attributes: [:])

    @Test(
        "A call of sessions has events under its own name",
        arguments: [
            (.sessionRefresh, .succeeded, ["refreshed session-refresh"]),
            (
                .sessionRefresh, .refused(.tokenRefresh, reason: .account(.refreshTokenReused)),
                ["refresh_reused session-refresh"]
            ),
            (
                .sessionRefresh, .refused(.tokenRefresh, reason: .cognito(.tokenRevoked)),
                ["session_expired session-refresh"]
            ),
            (.sessionLogout, .succeeded, ["signed_out session-logout"]),
            (.sessionDeleteMe, .succeeded, ["user_deleted session-delete-me"]),
            (.sessionExport, .succeeded, ["user_exported session-export"]),
            (.appleSignIn, .signedIn(user), ["signed_in apple-sign-in"]),
            (.appleSignIn, .refused(.notAuthorized, reason: .apple(.nonceMismatch)), ["sign_in_failed apple-sign-in"]),
            (.appleSignIn, .forwarded, ["signed_in apple-sign-in"]), (.appleSignIn, .succeeded, []),
            (.appleNonce, .succeeded, []), (.sessionValidate, .succeeded, []), (.appleNotifications, .succeeded, []),
            (.appleNotifications, .changed(user), []),
        ] as [(AccountOperation, AccountOutcome, [String])])
    func sessions(operation: AccountOperation, outcome: AccountOutcome, expected: [String]) {
        let request = AccountRequest(operation: operation, requestID: "r-1", clientAddress: "192.0.2.7")
        let events = AuditEvent.events(of: AccountCall(request, poolID: "sessions"), outcome, locks: false)
        #expect(events.map { "\($0.kind.rawValue) \($0.operation)" } == expected)
    }

    @Test("Apple's guess about a user is told with the sign-in")
    func realUserStatus() {
        var call = AccountCall(
            AccountRequest(operation: .appleSignIn, requestID: "r-1", clientAddress: "192.0.2.7"), poolID: "sessions")
        call.realUserStatus = "likely_real"
        let events = AuditEvent.events(of: call, .signedIn(Self.user), locks: false)
        #expect(events.map(\.kind) == [.signedIn] && events.map(\.realUserStatus) == ["likely_real"])
        #expect(events.map(\.operation) == ["apple-sign-in"])
    }
}
