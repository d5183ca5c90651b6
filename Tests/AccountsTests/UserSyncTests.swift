import Encoding
import Logging
import Pipeline
import Settings
import Synchronization
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

    private static func waiting(
        _ reports: [(AccountCall, AccountOutcome)]
    ) async throws -> [OutboxMessage] {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let records = StoredOutbox(try Store(path: ":memory:", migrations: StoredOutbox.migrations))
        let keys = Counter()
        let sync = UserSync(
            receiver: OutboxTests.receiver(ScriptedReceiver()),
            outbox: Outbox(records: records, logger: logger, now: { 1 }), events: Set(UserSyncEvent.allCases),
            isRequired: false, logger: logger, makeKey: { "\(keys.next())" })
        for (call, outcome) in reports { try await sync.report(call, outcome) }
        return try await records.claim(for: UserSync.destination, now: 1 << 60, lease: 0, longestPause: 0, limit: 9)
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        func next() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    @Test("Messages about a user that wait go with the user, and those about others stay")
    func deleted() async throws {
        func call(_ operation: AccountOperation, of subject: String) -> AccountCall {
            var call = Self.call(operation)
            call.subject = subject
            return call
        }
        let waiting = try await Self.waiting([
            (call(.login, of: "ada"), .signedIn(AuditEventTests.user)),
            (call(.login, of: "ben"), .signedIn(AuditEventTests.user)),
            (call(.deleteMe, of: "ada"), .succeeded),
        ])
        #expect(Set(waiting.map { "\($0.kind) \($0.subject ?? "")" }) == ["signed_in ben", "deleted ada"])
    }

    @Test(
        "A confirmed user is named by what the name is",
        arguments: [("ada@example.com", "email"), ("+4915112345678", "phone_number"), ("adalove", "username")])
    func confirmed(name: String, member: String) async throws {
        var call = Self.call(.confirm)
        call.account = name
        let body = try #require(try await Self.waiting([(call, .succeeded)]).first).body
        let user = try #require(JSON.parse(Array(body.utf8)).objectValue?["user"]?.objectValue)
        #expect(user[member] == .string(name) && user["id"] == .null)
        #expect(user["email"] == (member == "email" ? .string(name) : .null))
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
