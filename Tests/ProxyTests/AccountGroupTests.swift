import Cryptography
import Logging
import Pipeline
import Sealing
import TestSupport
import Testing

@testable import Accounts
@testable import HTTPClient
@testable import Proxy
@testable import Store

@Suite("Pools that share their paths")
struct AccountGroupTests {
    private struct NoFetcher: Fetcher {
        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse { throw .cancelled }
    }

    private static func accounts(_ poolID: String) throws -> CognitoAccounts {
        let key = try SealingKey(Secret([UInt8](repeating: 1, count: 32)))
        return CognitoAccounts(
            settings: CognitoSignInSettings(
                endpoint: "https://cognito.example/", issuer: "i", poolID: poolID, clientID: "c", clientSecret: nil),
            sealingKeys: SealingKeyRing(sealing: key),
            fetcher: NoFetcher(),
            records: try StoredSessions(Store(path: ":memory:", migrations: StoredSessions.migrations)),
            flow: AccountFlow(RecordedCalls()), revoke: { _ in }, isRevoked: { _ in false }, revocationTime: { 0 },
            now: { 0 },
            random: { [UInt8](repeating: 0, count: $0) }, logger: Logger(label: "test"))
    }

    private static func group(_ members: [(String, [String])]) throws -> AccountGroup {
        AccountGroup(
            members: try members.map { AccountGroup.Member(hosts: $0.1, accounts: try accounts($0.0)) })
    }

    @Test(
        "The host of a request says which pool is meant, in any case, with any port and with dots at its end",
        arguments: [
            ("a.example", "a"), ("A.Example:8443", "a"), ("[::1]:80", "six"), ("[::1]", "six"), ("b.example", "all"),
            ("a.example.evil", "all"), (nil, "all"), ("", "all"), ("a.example.", "a"), ("A.Example..:8443", "a"),
            ("x", "a"), ("[0:0::1]", "six"), (".", "all"),
        ] as [(String?, String)])
    func hosts(authority: String?, expected: String) throws {
        let group = try Self.group([("all", []), ("a", ["a.example", "x."]), ("six", ["[::1]"])])
        #expect(group.accounts(for: authority)?.settings.poolID == expected)
    }

    @Test("A host that no pool serves has none, unless one serves all")
    func noPool() throws {
        let group = try Self.group([("a", ["a.example"])])
        #expect(group.accounts(for: "b.example")?.settings.poolID == nil)
        #expect(group.accounts(for: "a.example")?.settings.poolID == "a")
        #expect(try Self.group([("all", [])]).accounts(for: "b.example")?.settings.poolID == "all")
    }
}
