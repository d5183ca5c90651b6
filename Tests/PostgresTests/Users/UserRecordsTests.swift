import Store
import Testing

@Suite("Records of users, in each store", .timeLimit(.minutes(10)))
struct UserRecordsTests {
    private static let now = SharedRecords.now

    @Test("A user is found as they were made, by id or by issuer and subject", arguments: RecordStores.installed)
    func roundTrip(store: RecordStores) async throws {
        let records = try await store.open()
        var user = SharedRecords.user("ada", role: "customer", email: "ada@example.com", asOf: 7)
        (user.name, user.phoneNumber) = ("Ada \u{1F600}", "+491")
        (user.emailVerified, user.isPrivateEmail) = (true, true)
        let signIn = UserSignIn(proof: nil, user: user, session: SharedRecords.session("s"))
        #expect(try await records.users.signIn(signIn) == .signedIn(user, isNew: true))
        #expect(try await records.others.user("id-ada") == user)
        #expect(try await records.others.user(issuer: "apple", subject: "ada") == user)
        #expect(try await records.others.session("s")?.user == user)
        #expect(try await records.users.user("id-Ada") == nil)
        #expect(try await records.users.user(issuer: "other", subject: "ada") == nil)
    }

    @Test(
        "Operators find users by id, subject, or the beginning of address or name, in pages by id",
        arguments: RecordStores.installed)
    func search(store: RecordStores) async throws {
        let records = try await store.open()
        for (name, email) in [("ada", "ada@example.com"), ("ben", "adam@example.com"), ("Cy", nil)] {
            let user = SharedRecords.user(name, email: email)
            let session = SharedRecords.session(name, of: name)
            _ = try await records.users.signIn(UserSignIn(proof: nil, user: user, session: session))
        }
        _ = try await records.users.change(UserChange(name: .set("Cyrus")), of: "id-Cy")
        func found(_ text: String?, after: String = "", limit: Int = 9) async throws -> [String] {
            try await records.others.users(matching: text, after: after, limit: limit).map(\.id)
        }
        #expect(try await found(nil) == ["id-Cy", "id-ada", "id-ben"], "by bytes")
        #expect(try await found(nil, limit: 2) == ["id-Cy", "id-ada"])
        #expect(try await found(nil, after: "id-ada") == ["id-ben"])
        #expect(try await found("id-ada") == ["id-ada"])
        #expect(try await found("ben") == ["id-ben"])
        #expect(try await found("ada") == ["id-ada", "id-ben"])
        #expect(try await found("Cyr") == ["id-Cy"])
        for text in ["%", "ad_", "example", "id-"] { #expect(try await found(text).isEmpty, "\(text)") }
    }

    @Test("Each change returns the user as they are then; of nobody nothing", arguments: RecordStores.installed)
    func changes(store: RecordStores) async throws {
        let records = try await store.open()
        var user = SharedRecords.user("ada", email: "old", asOf: 5)
        _ = try await records.users.signIn(
            UserSignIn(proof: nil, user: user, session: SharedRecords.session("s")))
        let address = VouchedEmail(address: "new", isVerified: true, isPrivate: true)
        #expect(try await records.users.setEmail(address, asOf: 4, of: user.id) == user, "a later word is known")
        (user.email, user.emailVerified, user.isPrivateEmail, user.emailAsOf) = ("new", true, true, 5)
        #expect(try await records.users.setEmail(address, asOf: 5, of: user.id) == user)
        (user.email, user.emailVerified, user.isPrivateEmail, user.emailAsOf) = (nil, false, false, 6)
        #expect(try await records.users.setEmail(nil, asOf: 6, of: user.id) == user)
        user.role = "driver"
        #expect(try await records.users.setRole("driver", of: user.id) == user)
        (user.role, user.disabledAt) = (nil, Self.now)
        #expect(try await records.users.setRole(nil, of: user.id)?.role == nil)
        #expect(try await records.users.setDisabled(at: Self.now, of: user.id) == user)
        (user.disabledAt, user.name) = (nil, "Ada")
        #expect(try await records.users.setDisabled(at: nil, of: user.id)?.disabledAt == nil)
        #expect(try await records.users.change(UserChange(name: .set("Ada")), of: user.id) == user)
        user.phoneNumber = "+491"
        #expect(try await records.users.change(UserChange(phoneNumber: .set("+491")), of: user.id) == user)
        #expect(try await records.users.change(UserChange(), of: user.id) == user)
        (user.name, user.phoneNumber) = (nil, nil)
        let both = UserChange(name: .set(nil), phoneNumber: .set(nil))
        #expect(try await records.users.change(both, of: user.id) == user)
        #expect(try await records.users.setEmail(address, asOf: 9, of: "nobody") == nil)
        #expect(try await records.users.setRole("r", of: "nobody") == nil)
        #expect(try await records.users.setDisabled(at: 9, of: "nobody") == nil)
        #expect(try await records.users.change(both, of: "nobody") == nil)
        #expect(try await records.others.user(user.id) == user)
    }

    @Test(
        "A user who is deleted is gone with everything, and their tokens are handed over where anyone wants them",
        arguments: RecordStores.installed, [true, false])
    func deletion(store: RecordStores, isWanted: Bool) async throws {
        let records = try await store.open()
        for name in ["ada", "ben"] {
            let user = SharedRecords.user(name)
            _ = try await records.users.signIn(
                UserSignIn(proof: nil, user: user, session: SharedRecords.session(name, of: name)) {
                    SharedRecords.token("token-\(name)", of: $0)
                })
        }
        try await records.users.keep(SharedRecords.token("second", of: "id-ada", client: "app-2"))
        let handOver = isWanted ? SharedRecords.message : nil
        let deleted = try await records.users.delete("id-ada", handingOver: handOver)
        #expect(deleted == SharedRecords.user("ada"))
        #expect(try await records.others.user("id-ada") == nil)
        #expect(try await records.others.session("ada") == nil)
        #expect(try await records.others.sessions(of: "id-ada").isEmpty)
        #expect(try await records.others.appleTokens(of: "id-ada").isEmpty)
        #expect(try await records.messages().sorted() == (isWanted ? ["second", "token-ada"] : []))
        #expect(try await records.users.delete("id-ada", handingOver: handOver) == nil)
        #expect(try await records.others.session("ben")?.user == SharedRecords.user("ben"))
        #expect(try await records.others.appleTokens(of: "id-ben").count == 1)
    }

    @Test("No text in PostgreSQL has U+0000, and nobody is found by one", .enabled(if: PostgresServer.isInstalled))
    func zero() async throws {
        let users = try await RecordStores.postgres.open().users
        #expect(try await users.user("id\u{0}") == nil)
        #expect(try await users.users(matching: "a\u{0}", after: "", limit: 9).isEmpty)
        #expect(try await users.session("\u{0}") == nil)
        #expect(try await users.sessions(of: "\u{0}").isEmpty)
        #expect(try await users.setRole("r", of: "\u{0}") == nil)
        #expect(try await users.delete("\u{0}", handingOver: nil) == nil)
    }
}
