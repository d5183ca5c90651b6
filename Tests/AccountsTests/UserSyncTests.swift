import Logging
import Pipeline
import Settings
import TestSupport
import Testing

@testable import Accounts
@testable import Store

@Suite("Telling the backend of users")
struct UserSyncTests {
    static func call(_ operation: AccountOperation) -> AccountCall {
        AccountCall(AccountRequest(operation: operation, requestID: "r-1", clientAddress: "192.0.2.7"), poolID: "pool")
    }

    @Test("A deletion whose message cannot be stored is refused, so that it comes again; a sign-in goes on")
    func notStored() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let outbox = Outbox(
            records: StoredOutbox(try Store(path: ":memory:", migrations: [])), logger: logger, now: { 1 })
        let sync = UserSync(
            receiver: OutboxTests.receiver(ScriptedReceiver()), outbox: outbox, events: Set(UserSyncEvent.allCases),
            isRequired: false, logger: logger, makeKey: { "k" })
        try await sync.report(Self.call(.login), .signedIn(AuditEventTests.user))
        do {
            try await sync.report(Self.call(.deleteMe), .succeeded)
            Issue.record("the deletion counts")
        } catch {
            #expect(error.error == .serviceUnavailable && error.reason.code == "user-sync-failed")
        }
    }

    @Test("A change of a user whom the response does not show is reported, and the user is not asked for")
    func notShown() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let records = StoredOutbox(try Store(path: ":memory:", migrations: StoredOutbox.migrations))
        let backend = ScriptedReceiver()
        let sync = UserSync(
            receiver: OutboxTests.receiver(backend), outbox: Outbox(records: records, logger: logger, now: { 1 }),
            events: Set(UserSyncEvent.allCases), isRequired: true, asksForUser: true, logger: logger,
            makeKey: { "k" })
        #expect(try await sync.report(Self.call(.me), .changed(AuditEventTests.user)) == nil)
        #expect(backend.requests.isEmpty)
        let waiting = try await records.claim(
            for: UserSync.destination, now: 1 << 60, lease: 0, longestPause: 0, limit: 9)
        #expect(waiting.map(\.kind) == ["updated"])
    }
}
