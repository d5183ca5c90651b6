import Store
import Testing

@Suite("Records of users' sessions, in each store", .timeLimit(.minutes(10)))
struct UserSessionRecordsTests {
    private static let now = SharedRecords.now

    private func begin(_ records: SharedRecords, _ session: UserSessionRecord, user: String = "ada") async throws {
        _ = try await records.users.signIn(
            UserSignIn(proof: nil, user: SharedRecords.user(user), session: session))
    }

    @Test("A session is found as it was kept, and takes each step once, never back", arguments: RecordStores.installed)
    func steps(store: RecordStores) async throws {
        let records = try await store.open()
        var session = SharedRecords.session("s")
        (session.deviceID, session.platform, session.retryUntil) = ("phone", "ios", 5)
        session.device = SessionDevice(name: "Ada's", model: "m", osVersion: "1", appVersion: "2")
        try await begin(records, session)
        #expect(try await records.others.session("s")?.session == session)
        #expect(try await records.others.session("S") == nil)
        var next = SharedRecords.session("s", rotation: 1)
        (next.refreshedAt, next.expiresAt, next.endsAt, next.deviceID) = (
            Self.now + 9, Self.now + 70, Self.now + 80, "other"
        )
        #expect(try await records.users.advance(to: next) == .taken)
        (session.rotation, session.successor, session.retryUntil) = (1, [1], 0)
        (session.refreshedAt, session.previousExpiresAt) = (Self.now + 9, session.expiresAt)
        (session.expiresAt, session.endsAt) = (Self.now + 70, Self.now + 80)
        #expect(try await records.others.session("s")?.session == session, "the sign-in stays as it was")
        for rotation in [1, 0] as [Int64] {
            let step = try await records.others.advance(to: SharedRecords.session("s", rotation: rotation))
            #expect(step == .overtaken(session))
        }
        (next.rotation, next.expiresAt) = (2, 1)
        #expect(try await records.users.advance(to: next) == .taken)
        (next.rotation, next.successor) = (3, nil)
        #expect(try await records.users.advance(to: next) == .taken)
        let last = try await records.others.session("s")?.session
        #expect(last?.previousExpiresAt == Self.now + 70, "the longest of those before")
        #expect(last?.successor == nil)
        #expect(try await records.users.advance(to: SharedRecords.session("none", rotation: 1)) == .overtaken(nil))
    }

    @Test("A token that is given again keeps its number, once for each reading", arguments: RecordStores.installed)
    func renewed(store: RecordStores) async throws {
        let records = try await store.open()
        try await begin(records, SharedRecords.session("s"))
        var known = SharedRecords.session("s", rotation: 1)
        known.previousExpiresAt = Self.now + 60
        #expect(try await records.users.advance(to: known) == .taken)
        var renewed = known
        (renewed.successor, renewed.refreshedAt) = ([7], Self.now + 90)
        (renewed.expiresAt, renewed.endsAt) = (Self.now + 200, Self.now + 700)
        #expect(try await records.users.renew(known, as: renewed) == .taken)
        #expect(try await records.others.session("s")?.session == renewed)
        var late = known
        (late.successor, late.refreshedAt) = ([8], Self.now + 91)
        #expect(try await records.others.renew(known, as: late) == .overtaken(renewed), "somebody else was faster")
        _ = try await records.users.setDisabled(at: 7, of: "id-ada")
        #expect(try await records.others.renew(renewed, as: late) == .overtaken(renewed))
        _ = try await records.users.setDisabled(at: nil, of: "id-ada")
        let next = SharedRecords.session("s", rotation: 2)
        #expect(try await records.users.advance(to: next) == .taken)
        let step = try await records.others.renew(renewed, as: late)
        #expect(step == .overtaken(try await records.users.session("s")?.session), "it was used")
        #expect(try await records.users.session("s")?.session.rotation == 2)
        #expect(try await records.users.end("s", at: Self.now + 99))
        let used = try #require(try await records.users.session("s")?.session)
        #expect(try await records.others.renew(used, as: late) == .overtaken(used))
        #expect(try await records.others.renew(SharedRecords.session("none"), as: late) == .overtaken(nil))
    }

    @Test("A session that has ended, or whose user is disabled, takes no step", arguments: RecordStores.installed)
    func ended(store: RecordStores) async throws {
        let records = try await store.open()
        var session = SharedRecords.session("s")
        try await begin(records, session)
        _ = try await records.others.setDisabled(at: 7, of: "id-ada")
        let next = SharedRecords.session("s", rotation: 1)
        #expect(try await records.users.advance(to: next) == .overtaken(session))
        _ = try await records.others.setDisabled(at: nil, of: "id-ada")
        #expect(try await records.users.end("s", at: Self.now + 3))
        #expect(try await !records.others.end("s", at: Self.now + 4))
        #expect(try await !records.others.end("none", at: Self.now + 4))
        (session.endedAt, session.successor) = (Self.now + 3, nil)
        #expect(try await records.others.advance(to: next) == .overtaken(session))
    }

    @Test(
        "All sessions of a user end, each returned once and as it was, and no other user's",
        arguments: RecordStores.installed)
    func all(store: RecordStores) async throws {
        let records = try await store.open()
        var (second, first) = (SharedRecords.session("a"), SharedRecords.session("b"))
        (second.createdAt, first.createdAt) = (Self.now + 1, Self.now)
        for session in [second, first, SharedRecords.session("c")] { try await begin(records, session) }
        try await begin(records, SharedRecords.session("other", of: "ben"), user: "ben")
        #expect(try await records.others.sessions(of: "id-ada").map(\.id) == ["b", "c", "a"])
        #expect(try await !records.users.hasEnded(atLeast: 1, of: "id-ada"))
        #expect(try await records.users.hasEnded(atLeast: 0, of: "id-ada"))
        #expect(try await records.users.end("c", at: 9))
        let ended = try await records.users.endAll(of: "id-ada", at: 11)
        #expect(ended.sorted { $0.id < $1.id } == [second, first])
        #expect(try await records.others.endAll(of: "id-ada", at: 12).isEmpty)
        #expect(try await records.others.sessions(of: "id-ada").map(\.endedAt) == [11, 9, 11])
        #expect(try await records.others.sessions(of: "id-ada").allSatisfy { $0.successor == nil })
        #expect(try await records.users.hasEnded(atLeast: 3, of: "id-ada"))
        #expect(try await !records.users.hasEnded(atLeast: 4, of: "id-ada"))
        #expect(try await records.others.session("other")?.session.endedAt == nil)
    }

    @Test(
        "Sessions whose token was replaced are read after a start, the oldest refresh first",
        arguments: RecordStores.installed)
    func superseded(store: RecordStores) async throws {
        let records = try await store.open()
        for (id, refreshedAt, expiresAt) in [("a", 40, 100), ("b", 60, 200), ("c", 20, 10), ("d", 30, 300)]
            as [(String, Int64, Int64)]
        {
            var session = SharedRecords.session(id)
            session.expiresAt = Self.now + expiresAt
            try await begin(records, session)
            guard id != "d" else { continue }
            var next = SharedRecords.session(id, rotation: 4)
            (next.refreshedAt, next.expiresAt) = (Self.now + refreshedAt, Self.now + 900)
            #expect(try await records.users.advance(to: next) == .taken)
        }
        func superseded(at time: Int64, limit: Int = 9) async throws -> [SupersededSession] {
            try await records.others.superseded(since: nil, now: Self.now + time, limit: limit).sessions
        }
        // Ten minutes for the clock skew, and an hour for clocks that are behind.
        let grace: Int64 = 4200
        #expect(try await superseded(at: grace + 9).map(\.id) == ["c", "a", "b"])
        #expect(try await superseded(at: grace + 10).map(\.id) == ["a", "b"])
        #expect(try await superseded(at: grace + 10, limit: 1).map(\.id) == ["b"], "the longest-lived")
        let first = try await superseded(at: 0).first
        #expect(
            first
                == SupersededSession(id: "c", rotation: 4, refreshedAt: Self.now + 20, expiresAt: Self.now + 10))
        #expect(try await records.users.end("b", at: 9))
        #expect(try await superseded(at: 0).map(\.id) == ["c", "a"])
        records.believe(Self.now + grace + 5)
        #expect(try await superseded(at: grace + 500).map(\.id) == ["c", "a"])
    }

    @Test("The end of a replaced token is stored where the record is behind it", arguments: RecordStores.installed)
    func supersededByOlderRecord(store: RecordStores) async throws {
        let records = try await store.open()
        try await begin(records, SharedRecords.session("s"))
        // The step to the replaced token was lost with the machine's power.
        var next = SharedRecords.session("s", rotation: 2)
        next.previousExpiresAt = Self.now + 500
        #expect(try await records.users.advance(to: next) == .taken)
        let reading = try await records.others.superseded(since: nil, now: Self.now, limit: 9)
        #expect(reading.sessions.map(\.expiresAt) == [Self.now + 500])
    }

    @Test("A follower reads what others refresh after it has read last", arguments: RecordStores.installed)
    func supersededSince(store: RecordStores) async throws {
        let records = try await store.open()
        for id in ["a", "b", "c"] { try await begin(records, SharedRecords.session(id)) }
        var position: ChangePosition?
        func read(at time: Int64) async throws -> [String] {
            let reading = try await records.others.superseded(since: position, now: Self.now + time, limit: 9)
            position = reading.position
            return reading.sessions.map(\.id)
        }
        func refresh(_ id: String, at time: Int64) async throws {
            var next = SharedRecords.session(id, rotation: time)
            (next.refreshedAt, next.expiresAt) = (Self.now + time, Self.now + 900)
            #expect(try await records.users.advance(to: next) == .taken)
        }
        try await refresh("a", at: 1)
        #expect(try await read(at: 10) == ["a"])
        #expect(try await read(at: 11) == [])
        try await refresh("c", at: 12)
        try await refresh("b", at: 13)
        // SQLite reads those of the last seconds before a position once more.
        #expect(try await read(at: 20).suffix(2) == ["c", "b"])
        #expect(try await read(at: 21) == [])
        try await refresh("a", at: 19)
        #expect(try await read(at: 30).contains("a"), "refreshed before the last reading, and committed after it")
    }

    @Test(
        "What has ended goes by the clock that is believed, and tokens after their window",
        arguments: RecordStores.installed)
    func removal(store: RecordStores) async throws {
        let records = try await store.open()
        for (id, refreshedAt, retryUntil, endsAt) in [
            ("over", 0, 0, 50), ("old", 0, 0, 900), ("new", 30, 0, 900), ("again", 0, 61, 900),
        ] as [(String, Int64, Int64, Int64)] {
            var session = SharedRecords.session(id)
            (session.refreshedAt, session.endsAt) = (Self.now + refreshedAt, Self.now + endsAt)
            session.retryUntil = retryUntil == 0 ? 0 : Self.now + retryUntil
            try await begin(records, session)
        }
        #expect(try await records.users.spend([1], until: Self.now + 50, now: Self.now))
        #expect(try await records.users.spend([2], until: Self.now + 62, now: Self.now))
        records.believe(Self.now + 40)
        try await records.others.removeEnded(now: Self.now + 500)
        #expect(try await records.users.sessions(of: "id-ada").allSatisfy { $0.successor == [0] })
        #expect(try await records.users.isSpent([1]))
        records.believe(Self.now + 61)
        try await records.others.removeEnded(now: Self.now + 61)
        let left = try await records.users.sessions(of: "id-ada")
        #expect(Set(left.map(\.id)) == ["old", "new", "again"])
        #expect(left.allSatisfy { ($0.successor == nil) == ($0.id == "old") })
        #expect(try await !records.users.isSpent([1]))
        #expect(try await records.users.isSpent([2]))
    }
}
