import Cryptography
import Encoding
import Store
import TestSupport
import Testing

@testable import Accounts

@Suite("Names of accounts")
struct AccountNamesTests {
    private let log = CapturedLog()

    private func names(_ records: any AccountNameRecords) -> AccountNames {
        AccountNames(key: Secret([UInt8](repeating: 5, count: 32)), records: records, logger: log.logger) { 1000 }
    }

    private func user(_ id: String, email: String? = nil, isVerified: Bool = true, phone: String? = nil) -> AccountUser
    {
        var attributes: JSONObject = [:]
        attributes["phone_number"] = phone.map(JSON.string)
        attributes["phone_number_verified"] = phone.map { _ in .bool(isVerified) }
        return AccountUser(
            id: id, username: "name-of-\(id)", email: email, emailVerified: isVerified, groups: [],
            attributes: attributes)
    }

    @Test("A sign-in shows whose the typed name is, and the verified names, in any case")
    func noted() async throws {
        let records = try Fixture.records()
        let names = names(records)
        await names.note(user("ada", email: "ada@example.com", phone: "+49170"), typed: "Ada", poolID: "p")
        for restarted in [names, self.names(records)] {
            for name in ["ada", "ADA", "Ada@Example.com", "+49170", "name-of-ada"] {
                #expect(try await restarted.subjects(named: name, poolID: "p") == ["ada"], "\(name)")
            }
            #expect(try await restarted.subjects(named: "ada", poolID: "q") == [])
            #expect(try await restarted.subjects(named: "eve", poolID: "p") == [])
        }
    }

    @Test("Nobody gets another one's name by an address that is not verified")
    func unverified() async throws {
        let names = names(try Fixture.records())
        await names.note(user("ada", email: "ada@example.com"), typed: "ada@example.com", poolID: "p")
        await names.note(
            user("eve", email: "ada@example.com", isVerified: false, phone: "+49170"), typed: "eve", poolID: "p")
        #expect(try await names.subjects(named: "ada@example.com", poolID: "p") == ["ada"])
        #expect(try await names.subjects(named: "+49170", poolID: "p") == [])
    }

    @Test("A name is of the last one who has signed in by it, then of the one before, and of nobody who is forgotten")
    func changes() async throws {
        let records = try Fixture.records()
        let names = names(records)
        for id in ["ada", "eve", "ada", "ada"] {
            await names.note(user(id), typed: "shared", poolID: "p")
            #expect(try await names.subjects(named: "shared", poolID: "p").first == id)
        }
        #expect(try await names.subjects(named: "shared", poolID: "p") == ["ada", "eve"])
        try await records.forget(subject: "ada", poolID: "p")
        #expect(try await names.subjects(named: "shared", poolID: "p") == ["eve"])
        #expect(try await names.subjects(named: "name-of-eve", poolID: "p") == ["eve"])
    }

    @Test("Names that differ in case, or in their form, are known of all their users, however many follow")
    func spellings() async throws {
        let records = try Fixture.records()
        let names = names(records)
        let spellings = ["jos\u{E9}", "Jos\u{E9}", "jose\u{301}", "JOSE\u{301}"]
        for (number, name) in spellings.enumerated() {
            await names.note(user("user-\(number)"), typed: name, poolID: "p")
            // The first one comes again, so that it was displaced and is not the last one.
            await names.note(user("user-0"), typed: spellings[0], poolID: "p")
            await names.note(user("user-\(number)"), typed: name, poolID: "p")
        }
        for restarted in [names, self.names(records)] {
            for (number, name) in spellings.enumerated() {
                let known = try await restarted.subjects(named: name, poolID: "p")
                #expect(known.first == "user-\(number)", "\(name.unicodeScalars.map(\.value))")
                #expect(known.count == Set(known).count && known.count > 1)
                #expect(await !restarted.areOnly([name], of: "user-\(number)", poolID: "p"))
            }
            #expect(await restarted.areOnly(["name-of-user-1"], of: "user-1", poolID: "p"))
            #expect(await restarted.areOnly(["nobody"], of: "user-1", poolID: "p"))
            #expect(await !restarted.areOnly(["nobody", "name-of-user-2"], of: "user-1", poolID: "p"))
        }
    }

    @Test("One who was displaced by two others is known all the same")
    func displaced() async throws {
        let names = names(try Fixture.records())
        await names.note(user("victim"), typed: "victim1", poolID: "p")
        for (id, name) in [("one", "Victim1"), ("two", "VICTIM1"), ("one", "Victim1")] {
            await names.note(user(id), typed: name, poolID: "p")
            #expect(try await names.subjects(named: "victim1", poolID: "p").contains("victim"))
            #expect(await !names.areOnly([name], of: id, poolID: "p"))
        }
    }

    struct BrokenRecords: AccountNameRecords {
        struct Broken: Error {}
        func note(_ names: [String], of subject: String, poolID: String, endsAt: Int64) async throws { throw Broken() }
        func subject(named name: String, poolID: String) async throws -> String? { throw Broken() }
    }

    @Test("Without the store a sign-in goes on, and the log says so")
    func broken() async throws {
        let names = names(BrokenRecords())
        await names.note(user("ada"), typed: "ada", poolID: "p")
        #expect(log.lines.contains { $0.contains("a user's names were not stored") })
        await #expect(throws: BrokenRecords.Broken.self) { try await names.subjects(named: "ada", poolID: "p") }
        #expect(await !names.areOnly(["ada"], of: "ada", poolID: "p"))
    }
}
