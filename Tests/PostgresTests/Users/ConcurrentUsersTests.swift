import Store
import Testing

/// Two gateways on one database, each with several writers at once.
@Suite("Concurrent writers of users, in each store", .timeLimit(.minutes(10)))
struct ConcurrentUsersTests {
    private typealias Records = SharedRecords
    private static let now = SharedRecords.now
    private static let writers = SharedRecords.writers

    private static func signIn(
        _ name: String = "ada", _ session: String, proof: UserSignIn.Proof? = nil, role: String? = nil,
        id: String? = nil, token: String? = nil
    ) -> UserSignIn {
        var user = SharedRecords.user(name, role: role)
        user.id = id ?? user.id
        return UserSignIn(proof: proof, user: user, session: SharedRecords.session(session, of: name)) { id in
            token.map { SharedRecords.token($0, of: id) }
        }
    }

    @Test(
        "Of sign-ins with one nonce, or one identity token, one happens, and the others use up nothing",
        arguments: RecordStores.installed, ["nonce", "token"])
    func proofs(store: RecordStores, shared: String) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            @Sendable func proof(_ writer: Int) -> UserSignIn.Proof {
                Records.proof(
                    "t-\(round)-\(shared == "token" ? 0 : writer)",
                    nonce: "n-\(round)-\(shared == "nonce" ? 0 : writer)")
            }
            let steps = try await records.race { gateway, writer in
                try await gateway.users.signIn(Self.signIn("u-\(writer)", "\(round)-\(writer)", proof: proof(writer)))
            }
            let winners = steps.indices.filter { if case .signedIn = steps[$0] { true } else { false } }
            #expect(winners.count == 1)
            #expect(steps.count { $0 == (shared == "token" ? .replayed : .nonceReused) } == Self.writers - 1)
            for writer in steps.indices {
                let isWinner = winners == [writer]
                #expect(try await (records.users.session("\(round)-\(writer)") != nil) == isWinner)
                let own = shared == "token" ? proof(writer).nonce?.digest ?? [] : proof(writer).digest
                #expect(try await records.users.isSpent(own) == isWinner)
            }
        }
    }

    @Test(
        "Proofs that share their parts crosswise wait for each other in one direction",
        arguments: RecordStores.installed)
    func crosswise(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let parts = (0..<3).map { "p-\(round)-\($0)" }
            let steps = try await records.race { gateway, writer in
                let (one, other) = (parts[writer % 3], parts[(writer + 1 + writer / 3) % 3])
                return try await gateway.users.spend(Records.proof(one, nonce: other), now: Self.now)
            }
            // Any two proofs have a part in common.
            #expect(steps.count { $0 == .spent } == 1)
            var spent = 0
            for part in parts where try await records.users.isSpent(Array(part.utf8)) { spent += 1 }
            #expect(spent == 2)
        }
    }

    @Test("Things that are used once are used by one", arguments: RecordStores.installed)
    func spent(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds as Range<Int> {
            let used = try await records.race { gateway, _ in
                try await gateway.users.spend([UInt8(round)], until: Self.now + 60, now: Self.now)
            }
            #expect(used.count(where: \.self) == 1)
        }
    }

    @Test(
        "Of first sign-ins of one user one makes the user, and Apple's token is sealed for that one",
        arguments: RecordStores.installed)
    func firstSignIns(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let steps = try await records.race { gateway, writer in
                try await gateway.users.signIn(
                    Self.signIn("u-\(round)", "\(round)-\(writer)", id: "id-\(round)-\(writer)", token: "\(writer)"))
            }
            let known = try #require(try await records.users.user(issuer: "apple", subject: "u-\(round)"))
            #expect(steps.count { $0 == .signedIn(known, isNew: true) } == 1)
            #expect(steps.count { $0 == .signedIn(known, isNew: false) } == Self.writers - 1)
            #expect(try await records.users.sessions(of: known.id).count == Self.writers)
            #expect(try await records.users.appleTokens(of: known.id).count == 1)
        }
    }

    @Test(
        "Who is disabled, or gets another role, has no session left of a sign-in at that moment",
        arguments: RecordStores.installed)
    func disabled(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let name = "u-\(round)"
            _ = try await records.users.signIn(Self.signIn(name, "\(round)-first", role: "customer"))
            _ = try await records.race { gateway, writer in
                guard writer == 5 else {
                    let step = try await gateway.users.signIn(
                        Self.signIn(name, "\(round)-\(writer)", role: "customer"))
                    if round.isMultiple(of: 2), case .otherRole = step { Issue.record("\(step)") }
                    return
                }
                let changed =
                    round.isMultiple(of: 2)
                    ? try await gateway.users.setDisabled(at: Self.now, of: "id-\(name)")
                    : try await gateway.users.setRole("driver", of: "id-\(name)")
                #expect(changed != nil)
                _ = try await gateway.users.endAll(of: "id-\(name)", at: Self.now)
            }
            let left = try await records.others.sessions(of: "id-\(name)").filter { $0.endedAt == nil }
            #expect(left.isEmpty, "\(left.map(\.id))")
        }
    }

    @Test(
        "A user without a role takes one of those of sign-ins at that moment, and the others are refused",
        arguments: RecordStores.installed)
    func roles(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let name = "u-\(round)"
            _ = try await records.users.signIn(Self.signIn(name, "\(round)-first"))
            let steps = try await records.race { gateway, writer in
                try await gateway.users.signIn(
                    Self.signIn(name, "\(round)-\(writer)", role: writer.isMultiple(of: 2) ? "customer" : "driver"))
            }
            let known = try #require(try await records.others.user("id-\(name)"))
            for (writer, step) in steps.enumerated() {
                let isSame = known.role == (writer.isMultiple(of: 2) ? "customer" : "driver")
                #expect(step == (isSame ? .signedIn(known, isNew: false) : .otherRole(known)))
            }
        }
    }

    @Test(
        "Of refreshes of a session one takes the step, and the others see its token", arguments: RecordStores.installed)
    func refreshes(store: RecordStores) async throws {
        let records = try await store.open()
        _ = try await records.users.signIn(Self.signIn("ada", "s"))
        for round in 1...Records.rounds {
            let steps = try await records.race { gateway, writer in
                var next = Records.session("s", rotation: Int64(round))
                next.successor = [UInt8(writer)]
                return try await gateway.users.advance(to: next)
            }
            let known = try await records.others.session("s")?.session
            #expect(steps.count { $0 == .taken } == 1)
            #expect(steps.count { $0 == .overtaken(known) } == Self.writers - 1)
        }
    }

    @Test(
        "Of many who end sessions one gets each, as it was last, also beside refreshes",
        arguments: RecordStores.installed)
    func ends(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let (name, ids) = ("u-\(round)", (0..<3).map { "\(round)-\($0)" })
            for id in ids { _ = try await records.users.signIn(Self.signIn(name, id)) }
            let results = try await records.race { gateway, writer in
                switch writer {
                case 0, 1:
                    let next = Records.session(ids[writer], of: name, rotation: 1)
                    return (taken: try await gateway.users.advance(to: next) == .taken, ended: [UserSessionRecord]())
                case 2: return (try await gateway.users.end(ids[2], at: 9), [])
                default: return (false, try await gateway.users.endAll(of: "id-\(name)", at: 9))
                }
            }
            let ended = results.flatMap(\.ended).sorted { $0.id < $1.id }
            #expect(ended.map(\.id) == (results[2].taken ? Array(ids.prefix(2)) : ids))
            for (session, result) in zip(ended, results) {
                let expected: Int64 = session.id != ids[2] && result.taken ? 1 : 0
                #expect(session.rotation == expected && session.successor == [UInt8(expected)])
            }
            for session in try await records.others.sessions(of: "id-\(name)") {
                #expect(session.endedAt == 9 && session.successor == nil)
            }
        }
    }

    @Test("Gateways that claim Apple's tokens at once get each token once", arguments: RecordStores.installed)
    func claims(store: RecordStores) async throws {
        let records = try await store.open()
        _ = try await records.users.signIn(Self.signIn("ada", "s"))
        for number in 0..<60 as Range<Int64> {
            let time = Self.now + (number.isMultiple(of: 2) ? -number : number)
            try await records.users.keep(Records.token("t", of: "id-ada", client: "c-\(number)", at: time))
        }
        var claimed: [String] = []
        while true {
            let found = try await records.race { gateway, _ in
                try await gateway.users.claimAppleTokens(validatedBefore: Self.now, pause: 0, now: Self.now, limit: 3)
            }.flatMap(\.self)
            guard !found.isEmpty else { break }
            claimed += found.map(\.clientID)
        }
        // The one at this moment is not due.
        #expect(claimed.count == 59 && Set(claimed).count == 59)
    }

    @Test(
        "No token is lost beside the deletion of its user: it is handed over once, or is a new user's",
        arguments: RecordStores.installed)
    func deletions(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let name = "u-\(round)"
            _ = try await records.users.signIn(Self.signIn(name, "\(round)-first", token: "\(round)-first"))
            let deleted = try await records.race { gateway, writer -> UserRecord? in
                let token = Records.token("\(round)-\(writer)", of: "id-\(name)", client: "c-\(writer)")
                switch writer {
                case 0, 1: return try await gateway.users.delete("id-\(name)", handingOver: Records.message)
                case 2:
                    _ = try await gateway.users.signIn(
                        Self.signIn(name, "\(round)-\(writer)", id: "new-\(name)", token: "\(round)-\(writer)"))
                case 3: try await gateway.users.keep(token)
                case 4: _ = try await gateway.users.endAll(of: "id-\(name)", at: 9)
                default:
                    _ = try await gateway.users.handOverAppleTokens(
                        of: "id-\(name)", as: Records.message, limit: .max)
                }
                return nil
            }
            #expect(deleted.count { $0 != nil } == 1)
            #expect(try await records.users.user("id-\(name)") == nil)
            #expect(try await records.users.appleTokens(of: "id-\(name)").isEmpty)
            let new = try await records.users.appleTokens(of: "new-\(name)").map(\.token)
            let messages = try await records.messages()
            #expect(Set(messages).count == messages.count)
            // The sign-in's token replaces the first one's, or is the new user's. Each is in one place.
            let signInToken = "\(round)-2"
            #expect(messages.contains(signInToken) != (new == [Array(signInToken.utf8)]))
            #expect(messages.contains(signInToken) || messages.contains("\(round)-first"))
            for body in messages { try await records.outbox.remove(key: "id-\(name)/app/\(body)") }
            for body in messages { try await records.outbox.remove(key: "id-\(name)/c-3/\(body)") }
        }
    }

    @Test(
        "Tokens are handed over once, as they are then, beside those who renew them", arguments: RecordStores.installed)
    func handOvers(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let name = "u-\(round)"
            _ = try await records.users.signIn(Self.signIn(name, "\(round)"))
            let tokens = (0..<3).map { Records.token("\(round)-old", of: "id-\(name)", client: "\($0)") }
            for token in tokens { try await records.users.keep(token) }
            _ = try await records.race { gateway, writer in
                guard writer < 3 else {
                    return #expect(
                        try await gateway.users.handOverAppleTokens(
                            of: "id-\(name)", as: Records.message, limit: .max))
                }
                try await gateway.users.replace(tokens[writer], by: Array("\(round)-new".utf8), validatedAt: 9)
            }
            #expect(try await records.others.appleTokens(of: "id-\(name)").isEmpty)
            let all = try await records.messages()
            #expect(all.count == 3)
            for client in 0..<3 {
                for text in ["old", "new"] {
                    try await records.outbox.remove(key: "id-\(name)/\(client)/\(round)-\(text)")
                }
            }
        }
        #expect(try await records.outbox.count() == 0)
    }

    @Test("Of words for an address the latest counts, in whatever order they come", arguments: RecordStores.installed)
    func addresses(store: RecordStores) async throws {
        let records = try await store.open()
        _ = try await records.users.signIn(Self.signIn("ada", "s"))
        for round in 0..<Records.rounds {
            let results = try await records.race { gateway, writer in
                let time = Int64(round * 10 + writer + 1)
                let email = VouchedEmail(address: "\(time)", isVerified: false, isPrivate: false)
                return try await gateway.users.setEmail(email, asOf: time, of: "id-ada")?.emailAsOf
            }
            for (writer, time) in results.enumerated() { #expect(time ?? 0 >= round * 10 + writer + 1) }
            #expect(try await records.others.user("id-ada")?.email == "\(round * 10 + Self.writers)")
        }
    }

    @Test("Changes of different parts of a user all stay", arguments: RecordStores.installed)
    func parts(store: RecordStores) async throws {
        let records = try await store.open()
        _ = try await records.users.signIn(Self.signIn("ada", "s"))
        for round in 0..<Records.rounds {
            _ = try await records.race { gateway, writer in
                let (users, text) = (gateway.users, "\(round)")
                switch writer {
                case 0: return try await users.change(UserChange(name: .set(text)), of: "id-ada")
                case 1: return try await users.change(UserChange(phoneNumber: .set(text)), of: "id-ada")
                case 2: return try await users.setRole(text, of: "id-ada")
                case 3: return try await users.setDisabled(at: Int64(round), of: "id-ada")
                default:
                    let email = VouchedEmail(address: text, isVerified: true, isPrivate: true)
                    return try await users.setEmail(email, asOf: Int64(round), of: "id-ada")
                }
            }
            let user = try #require(try await records.others.user("id-ada"))
            #expect([user.name, user.phoneNumber, user.role, user.email] == Array(repeating: "\(round)", count: 4))
            #expect(user.disabledAt == Int64(round) && user.emailAsOf == Int64(round))
        }
    }

    @Test("What has ended is removed beside those who sign in and refresh", arguments: RecordStores.installed)
    func removal(store: RecordStores) async throws {
        let records = try await store.open()
        for round in 0..<Records.rounds {
            let proof = UserSignIn.Proof(digest: Array("over-\(round)".utf8), endsAt: Self.now - 1)
            var over = Self.signIn("ada", "over-\(round)", proof: proof)
            over.session.endsAt = Self.now - 1
            _ = try await records.users.signIn(over)
            _ = try await records.race { gateway, writer in
                switch writer {
                case 0, 1: try await gateway.users.removeEnded(now: Self.now)
                case 2, 3:
                    _ = try await gateway.users.signIn(
                        Self.signIn("ada", "\(round)-\(writer)", proof: Records.proof("\(round)-\(writer)")))
                case 4: _ = try await gateway.users.advance(to: Records.session("over-\(round)", rotation: 1))
                default: _ = try await gateway.users.endAll(of: "id-ada", at: Self.now)
                }
            }
        }
        try await records.users.removeEnded(now: Self.now)
        let left = try await records.others.sessions(of: "id-ada").map(\.id)
        #expect(left.count { !$0.hasPrefix("over-") } == 2 * Records.rounds)
        for round in 0..<Records.rounds {
            #expect(try await !records.others.isSpent(Array("over-\(round)".utf8)))
            #expect(try await records.others.isSpent(Array("\(round)-2".utf8)))
        }
    }
}
