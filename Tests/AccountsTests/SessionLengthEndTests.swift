import Encoding
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Telemetry

@Suite("Which account calls end a session, for the metrics")
struct SessionLengthEndTests {
    @Test(
        "Signing out and deletion do, and so does finding it ended at a refresh",
        arguments: [
            (.logout, nil, .signOut), (.deleteMe, nil, .deletion), (.refresh, nil, nil), (.login, nil, nil),
            (.logout, "not-revoked", nil), (.deleteMe, "session-records-unavailable", nil),
            (.refresh, "expired-refresh-token", .expiry), (.refresh, "session-too-old", .expiry),
            (.refresh, "token-expired", .expiry), (.refresh, "session-idle", .idle),
            (.refresh, "refresh-token-reused", .reuse), (.refresh, "token-reused", .reuse),
            (.refresh, "session-ended", .revocation), (.refresh, "token-revoked", .revocation),
            (.refresh, "user-not-found", .revocation), (.refresh, "provider-unavailable", nil),
            (.refresh, "other-device", nil), (.login, "session-ended", nil),
        ] as [(AccountOperation, String?, SessionLengths.End?)])
    func ends(operation: AccountOperation, refusedFor code: String?, end: SessionLengths.End?) {
        let outcome: AccountOutcome = code.map { .refused(.tokenRefresh, reason: .with($0)) } ?? .succeeded
        #expect(SessionLengths.End(operation, outcome) == end)
    }

    @Test("A session whose sign-in has an impossible time has no length", arguments: [.max, .min] as [Int64])
    func impossibleTime(signedInAt: Int64) {
        let claims: JSONObject = ["sid": "session-1", "auth_time": .number(JSONNumber(signedInAt))]
        #expect(CalledSession(claims) == nil)
    }
}
