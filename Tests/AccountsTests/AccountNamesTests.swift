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
                #expect(try await restarted.subject(named: name, poolID: "p") == "ada", "\(name)")
            }
            #expect(try await restarted.subject(named: "ada", poolID: "q") == nil)
            #expect(try await restarted.subject(named: "eve", poolID: "p") == nil)
        }
    }

    @Test("Nobody gets another one's name by an address that is not verified")
    func unverified() async throws {
        let names = names(try Fixture.records())
        await names.note(user("ada", email: "ada@example.com"), typed: "ada@example.com", poolID: "p")
        await names.note(
            user("eve", email: "ada@example.com", isVerified: false, phone: "+49170"), typed: "eve", poolID: "p")
        #expect(try await names.subject(named: "ada@example.com", poolID: "p") == "ada")
        #expect(try await names.subject(named: "+49170", poolID: "p") == nil)
    }

    @Test("A name is of the last one who has signed in by it, and of nobody who is forgotten")
    func changes() async throws {
        let records = try Fixture.records()
        let names = names(records)
        for id in ["ada", "eve", "ada", "ada"] {
            await names.note(user(id), typed: "shared", poolID: "p")
            #expect(try await names.subject(named: "shared", poolID: "p") == id)
        }
        try await records.forget(subject: "ada", poolID: "p")
        #expect(try await names.subject(named: "shared", poolID: "p") == nil)
        #expect(try await names.subject(named: "name-of-eve", poolID: "p") == "eve")
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
        await #expect(throws: BrokenRecords.Broken.self) { try await names.subject(named: "ada", poolID: "p") }
    }
}
