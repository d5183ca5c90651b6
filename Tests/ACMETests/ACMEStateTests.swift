import Cryptography
import Encoding
import Testing

@testable import ACME

@Suite("The stored state")
struct ACMEStateTests {
    private static func certificate(_ name: String, _ obtainedAt: Int64, chain: [UInt8] = []) -> ObtainedCertificate {
        ObtainedCertificate(
            name: name, directory: "https://ca.test/dir", chain: chain, key: Secret("k"), obtainedAt: obtainedAt)
    }

    private static var state: ACMEState {
        var state = ACMEState()
        state.account = .init(directory: "https://ca.test/dir", key: Secret("key"), url: nil, contacts: ["a@b.test"])
        state.keep(certificate("a.test", 5, chain: Array("chain\n".utf8)))
        state.keep(
            ACMEState.Failure(
                name: "b.test", count: 2, nextAt: 11, lastAt: 8, since: 7, storedAt: 9, error: "why \"so\""))
        let challenge = ACMEChallenge(type: .http, name: "b.test", token: "t", keyAuthorization: "t.x")
        state.pending = [.init(challenge: challenge, endsAt: 10)]
        return state
    }

    @Test("What is stored is read again")
    func roundTrip() throws {
        #expect(try ACMEState(decoding: Self.state.encoded()) == Self.state)
        #expect(try ACMEState(decoding: ACMEState().encoded()) == ACMEState())
    }

    @Test("A state of an earlier version, which has no beginnings of failures and no times of storing, is read")
    func beginning() throws {
        let text = String(decoding: Self.state.encoded(), as: UTF8.self)
        let older = text.replacing(#","since":7"#, with: "").replacing(#","stored_at":9"#, with: "")
        let failure = try ACMEState(decoding: Array(older.utf8)).failure(of: "b.test")
        #expect(failure?.since == 8 && failure?.storedAt == 8)
    }

    @Test(
        "What is damaged is not taken for an empty state", arguments: ["", "{}", "[]", #"{"acme":2}"#, #"{"acme":1}"#])
    func damaged(text: String) {
        #expect(throws: ACMEState.Damaged.self) { try ACMEState(decoding: Array(text.utf8)) }
    }

    @Test("A certificate takes the place of the one before, and ends the failures of its name")
    func keeping() {
        var state = Self.state
        state.keep(Self.certificate("b.test", 6))
        state.keep(Self.certificate("b.test", 7))
        #expect(state.certificates.map(\.obtainedAt) == [5, 7] && state.failures.isEmpty)
    }

    @Test("Names that are not ordered any more leave nothing behind that is over")
    func pruning() throws {
        var state = Self.state
        let chain = try P256SigningKey.generate().challengeCertificate(for: "old.test", digest: SHA256.hash([]))
        let end = try #require(ServerCertificate(chain: chain, for: "old.test")).notAfter
        state.keep(Self.certificate("old.test", 5, chain: chain))
        let whole = state
        state.prune(names: ["a.test", "b.test", "old.test"], now: 9)
        #expect(state == whole)
        state.prune(names: ["a.test", "b.test"], now: end - 1)
        #expect(state.certificates.map(\.name) == ["a.test", "old.test"] && state.pending.isEmpty)
        #expect(state.failures.map(\.name) == ["b.test"])
        state.prune(names: ["a.test"], now: end)
        #expect(state.certificates.map(\.name) == ["a.test"] && state.failures.isEmpty)
    }

    @Test("A certificate that was stored without its directory is another directory's")
    func withoutDirectory() throws {
        let text =
            #"{"acme":1,"certificates":[{"name":"a","chain":"","key":"k","obtained_at":1}],"#
            + #""failures":[],"pending":[]}"#
        let state = try ACMEState(decoding: Array(text.utf8))
        #expect(state.certificates.map(\.directory) == [""])
    }
}
