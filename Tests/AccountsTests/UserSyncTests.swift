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
}
