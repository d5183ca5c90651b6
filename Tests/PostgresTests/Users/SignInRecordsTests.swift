import Store
import Testing

@Suite("Records of sign-ins, in each store", .timeLimit(.minutes(10)))
struct SignInRecordsTests {
    private static let now = SharedRecords.now

    @Test(
        "A user who is known signs in as they are, and a later word for the address counts",
        arguments: RecordStores.installed)
    func known(store: RecordStores) async throws {
        let records = try await store.open()
        var user = SharedRecords.user("ada", role: "customer", email: "old", asOf: 5)
        user.name = "Ada"
        #expect(try await signIn(records, user, "1") == .signedIn(user, isNew: true))
        var given = SharedRecords.user("ada", role: "customer")
        (given.id, given.name, given.emailAsOf) = ("id-other", "Eve", 9)
        #expect(try await signIn(records, given, "2") == .signedIn(user, isNew: false), "without an address")
        (given.email, given.emailAsOf, given.emailVerified) = ("older", 4, true)
        #expect(try await signIn(records, given, "3") == .signedIn(user, isNew: false), "an earlier word")
        (given.email, given.emailAsOf, given.isPrivateEmail) = ("new", 5, true)
        (user.email, user.emailVerified, user.isPrivateEmail) = ("new", true, true)
        #expect(try await signIn(records, given, "4") == .signedIn(user, isNew: false))
        #expect(try await records.others.sessions(of: "id-ada").map(\.id) == ["1", "2", "3", "4"])
        #expect(try await records.others.user("id-other") == nil)
    }

    private func signIn(
        _ records: SharedRecords, _ user: UserRecord, _ session: String, proof: UserSignIn.Proof? = nil,
        token: String? = nil
    ) async throws -> UserSignInStep {
        try await records.users.signIn(
            UserSignIn(proof: proof, user: user, session: SharedRecords.session(session, of: user.subject)) { id in
                token.map { SharedRecords.token($0, of: id) }
            })
    }

    @Test(
        "Who has no role takes the app's, and an app without a role takes nobody's away",
        arguments: RecordStores.installed)
    func roleless(store: RecordStores) async throws {
        let records = try await store.open()
        var user = SharedRecords.user("ada", email: "ada", asOf: 5)
        #expect(try await signIn(records, user, "1") == .signedIn(user, isNew: true))
        user.role = "driver"
        #expect(try await signIn(records, user, "2") == .signedIn(user, isNew: false))
        #expect(try await records.others.user(user.id) == user)
        #expect(try await signIn(records, SharedRecords.user("ada"), "3") == .signedIn(user, isNew: false))
        #expect(try await records.others.user(user.id) == user)
        let other = SharedRecords.user("ada", role: "customer")
        #expect(try await signIn(records, other, "4") == .otherRole(user))
        _ = try await records.users.setRole(nil, of: user.id)
        user.role = "customer"
        (user.email, user.emailAsOf) = ("new", 6)
        #expect(try await signIn(records, user, "5") == .signedIn(user, isNew: false))
        #expect(try await records.others.user(user.id) == user)
    }

    @Test(
        "Who is disabled, or has another role, gets no session, and the proof is used up all the same",
        arguments: RecordStores.installed)
    func refused(store: RecordStores) async throws {
        let records = try await store.open()
        var user = SharedRecords.user("ada", role: "customer")
        #expect(try await signIn(records, user, "1", token: "first") == .signedIn(user, isNew: true))
        for (number, role) in ["driver", "Customer"].enumerated() {
            let other = SharedRecords.user("ada", role: role)
            let proof = SharedRecords.proof("role-\(number)", nonce: "role-nonce-\(number)")
            #expect(try await signIn(records, other, "2", proof: proof, token: "no") == .otherRole(user))
            #expect(try await records.others.isSpent(proof.digest))
            #expect(try await signIn(records, user, "3", proof: proof, token: "no") == .replayed)
        }
        user.disabledAt = Self.now
        _ = try await records.users.setDisabled(at: Self.now, of: user.id)
        let proof = SharedRecords.proof("disabled", nonce: "disabled-nonce")
        let given = SharedRecords.user("ada", role: "customer", email: "new", asOf: 9)
        #expect(try await signIn(records, given, "4", proof: proof, token: "no") == .disabled(user))
        #expect(try await records.others.isSpent(Array("disabled-nonce".utf8)))
        #expect(try await records.others.sessions(of: user.id).map(\.id) == ["1"])
        #expect(try await records.others.appleTokens(of: user.id).map(\.token) == [Array("first".utf8)])
        #expect(try await records.others.user(user.id) == user)
    }

    @Test(
        "A proof of which anything was used before uses up nothing and changes nothing",
        arguments: RecordStores.installed)
    func replayed(store: RecordStores) async throws {
        let records = try await store.open()
        let user = SharedRecords.user("ada")
        let first = SharedRecords.proof("t-1", nonce: "n-1")
        #expect(try await signIn(records, user, "1", proof: first) == .signedIn(user, isNew: true))
        let ben = SharedRecords.user("ben")
        let used: [(UserSignIn.Proof, UserSignInStep, SpendingStep)] = [
            (first, .replayed, .replayed), (SharedRecords.proof("t-1", nonce: "n-2"), .replayed, .replayed),
            (SharedRecords.proof("t-1"), .replayed, .replayed),
            (SharedRecords.proof("t-2", nonce: "n-1"), .nonceReused, .nonceReused),
        ]
        for (proof, step, spent) in used {
            #expect(try await signIn(records, ben, "2", proof: proof, token: "no") == step)
            #expect(try await records.users.spend(proof, now: Self.now) == spent)
        }
        for unused in ["t-2", "n-2"] { #expect(try await !records.others.isSpent(Array(unused.utf8))) }
        #expect(try await records.others.user(issuer: "apple", subject: "ben") == nil)
        #expect(try await records.others.session("2") == nil)
        #expect(try await records.users.spend(SharedRecords.proof("t-2", nonce: "n-2"), now: Self.now) == .spent)
        #expect(try await records.users.spend(SharedRecords.proof("t-3"), now: Self.now) == .spent)
        #expect(try await records.users.spend([7], until: Self.now + 9, now: Self.now))
        #expect(try await !records.users.spend([7], until: Self.now + 9, now: Self.now))
        #expect(try await records.others.isSpent([7]))
        #expect(try await !records.others.isSpent([8]))
    }

    @Test("A sign-in's token of Apple's is sealed for the user who is found", arguments: RecordStores.installed)
    func tokens(store: RecordStores) async throws {
        let records = try await store.open()
        #expect(
            try await signIn(records, SharedRecords.user("ada"), "1", token: "a")
                == .signedIn(SharedRecords.user("ada"), isNew: true))
        var again = SharedRecords.user("ada")
        again.id = "id-other"
        #expect(try await signIn(records, again, "2", token: "b") == .signedIn(SharedRecords.user("ada"), isNew: false))
        #expect(try await records.others.appleTokens(of: "id-ada") == [SharedRecords.token("b", of: "id-ada")])
        try await records.users.keep(SharedRecords.token("c", of: "nobody"))
        #expect(try await records.others.appleTokens(of: "nobody").isEmpty)
        try await records.users.keep(SharedRecords.token("d", of: "id-ada", client: "app-0", at: Self.now + 1))
        try await records.users.keep(SharedRecords.token("e", of: "id-ada"))
        let kept = try await records.others.appleTokens(of: "id-ada")
        #expect(
            kept == [
                SharedRecords.token("e", of: "id-ada"),
                SharedRecords.token("d", of: "id-ada", client: "app-0", at: Self.now + 1),
            ])
    }
}
