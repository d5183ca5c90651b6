import Store
import Testing

@Suite("Records of Apple's tokens, in each store", .timeLimit(.minutes(10)))
struct AppleTokenRecordsTests {
    private static let now = SharedRecords.now

    private func open(_ store: RecordStores, _ tokens: [AppleTokenRecord]) async throws -> SharedRecords {
        let records = try await store.open()
        for name in ["ada", "ben"] {
            let signIn = UserSignIn(
                proof: nil, user: SharedRecords.user(name), session: SharedRecords.session(name, of: name))
            _ = try await records.users.signIn(signIn)
        }
        for token in tokens { try await records.users.keep(token) }
        return records
    }

    @Test(
        "Those validated longest ago are claimed first, once, and those of a clock that was ahead last",
        arguments: RecordStores.installed)
    func claims(store: RecordStores) async throws {
        let times: [Int64] = [-100, -300, -200, 50, 0, 40]
        let tokens = times.enumerated().map { number, time in
            SharedRecords.token("t", of: "id-ada", client: "c-\(number)", at: Self.now + time)
        }
        let records = try await open(store, tokens)
        func claim(_ limit: Int) async throws -> [AppleTokenRecord] {
            try await records.others.claimAppleTokens(
                validatedBefore: Self.now, pause: 0, now: Self.now, limit: limit)
        }
        #expect(try await claim(2) == [tokens[1], tokens[2]], "as they were")
        #expect(try await claim(2) == [tokens[0], tokens[5]])
        #expect(try await claim(9) == [tokens[3]])
        #expect(try await claim(9).isEmpty)
        let now = try await records.users.appleTokens(of: "id-ada").map(\.validatedAt)
        #expect(now == times.map { _ in Self.now })
    }

    @Test("A claimed token of which nothing is noted is due again after a pause", arguments: RecordStores.installed)
    func pause(store: RecordStores) async throws {
        let token = SharedRecords.token("t", of: "id-ada", at: Self.now - 101)
        let records = try await open(store, [token])
        func claim(after seconds: Int64) async throws -> [Int64] {
            try await records.others.claimAppleTokens(
                validatedBefore: Self.now - 100 + seconds, pause: 10, now: Self.now + seconds, limit: 9
            ).map(\.validatedAt)
        }
        #expect(try await claim(after: 0) == [token.validatedAt])
        #expect(try await claim(after: 10).isEmpty)
        #expect(try await claim(after: 11) == [Self.now - 90])
    }

    @Test("A token is replaced and removed only while it is the one that was read", arguments: RecordStores.installed)
    func others(store: RecordStores) async throws {
        let first = SharedRecords.token("first", of: "id-ada")
        let records = try await open(store, [first])
        var second = first
        (second.token, second.validatedAt) = (Array("second".utf8), Self.now + 7)
        try await records.users.replace(first, by: second.token, validatedAt: Self.now + 7)
        #expect(try await records.others.appleTokens(of: "id-ada") == [second])
        try await records.users.replace(first, by: [9], validatedAt: 9)
        try await records.users.remove(first)
        #expect(try await records.others.appleTokens(of: "id-ada") == [second])
        try await records.users.remove(second)
        #expect(try await records.others.appleTokens(of: "id-ada").isEmpty)
    }

    @Test("Tokens become messages all together, or, where too many wait, none", arguments: RecordStores.installed)
    func handOver(store: RecordStores) async throws {
        let tokens = ["a", "b"].map { SharedRecords.token("token-\($0)", of: "id-ada", client: $0) }
        let records = try await open(store, tokens + [SharedRecords.token("ben", of: "id-ben")])
        let handOver = SharedRecords.message
        #expect(try await records.users.handOverAppleTokens(of: "nobody", as: handOver, limit: 0))
        #expect(try await !records.users.handOverAppleTokens(of: "id-ada", as: handOver, limit: 1))
        #expect(try await records.others.appleTokens(of: "id-ada") == tokens)
        #expect(try await records.outbox.count() == 0)
        #expect(try await records.users.handOverAppleTokens(of: "id-ada", as: handOver, limit: 2))
        #expect(try await records.others.appleTokens(of: "id-ada").isEmpty)
        #expect(try await records.users.handOverAppleTokens(of: "id-ada", as: handOver, limit: 2))
        #expect(try await !records.users.handOverAppleTokens(of: "id-ben", as: handOver, limit: 2))
        #expect(try await records.messages().sorted() == ["token-a", "token-b"])
        #expect(try await records.others.appleTokens(of: "id-ben").count == 1)
    }
}
