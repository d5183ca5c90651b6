import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Records of accounts")
    struct Accounts {
        private static let now: Int64 = 1_700_000_000

        @Test("The session of a device is found by its refresh token until it ends, or its user is forgotten")
        func directSessions() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresDirectSessions(store, clock: LimitedClock())
            let session = DirectSessionRecord(
                digest: "d-1", poolID: "p", subject: "ada", originID: "o-1", signedInAt: nil, endsAt: Self.now + 10)
            var other = session
            (other.digest, other.subject, other.signedInAt) = ("d-2", "eve", 7)
            for record in [session, other] { try await records.note(record) }
            #expect(try await records.session(by: "d-1", poolID: "p") == session)
            #expect(try await records.session(by: "d-2", poolID: "p") == other)
            #expect(try await records.session(by: "d-1", poolID: "q") == nil)
            // A refresh lets it last longer, and nothing lets it end earlier.
            for (endsAt, last) in [(Self.now + 20, Self.now + 20), (Self.now + 5, Self.now + 20)] {
                var later = session
                later.endsAt = endsAt
                try await records.note(later)
                #expect(try await records.session(by: "d-1", poolID: "p")?.endsAt == last)
            }
            try await records.removeEnded(now: Self.now + 10)
            #expect(try await records.session(by: "d-2", poolID: "p") == nil)
            #expect(try await records.session(by: "d-1", poolID: "p") != nil)
            try await PostgresSessions(store).forget(subject: "ada", poolID: "p")
            #expect(try await records.session(by: "d-1", poolID: "p") == nil)
        }

        @Test("Changes of passwords stay until they are removed, the oldest first")
        func passwordChanges() async throws {
            let store = try await RecordsDatabase().store
            let records = PostgresPasswordChanges(store)
            func change(
                _ id: UInt8, at time: Int64, client: String = "c", subject: String? = "ada"
            ) -> PasswordChangeRecord {
                PasswordChangeRecord(
                    id: [UInt8](repeating: id, count: 16), poolID: "p", clientID: client, subject: subject,
                    spared: subject.map { "o-\($0)" }, notedAt: time, endsSignInsUntil: time + 6)
            }
            let changes = [change(2, at: 5), change(1, at: 7, subject: nil), change(3, at: 9)]
            for each in changes.reversed() + [change(4, at: 1, client: "another")] { try await records.add(each) }
            #expect(try await records.all(poolID: "p", clientID: "c", limit: 9) == changes)
            #expect(try await records.all(poolID: "p", clientID: "c", limit: 2) == Array(changes.prefix(2)))
            #expect(try await records.all(poolID: "q", clientID: "c", limit: 9).isEmpty)
            for _ in 0..<2 { try await records.remove(changes[0].id) }
            #expect(try await records.all(poolID: "p", clientID: "c", limit: 9) == Array(changes.dropFirst()))
        }
    }
}
