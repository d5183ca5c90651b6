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

    private static func order(_ name: String, at time: Int64) -> ACMEState.SubmittedOrder {
        .init(
            name: name, directory: "https://ca.test/dir", url: "https://ca.test/order", key: Secret("k"),
            storedAt: time)
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
        state.keep(order("b.test", at: 8))
        return state
    }

    @Test("What is stored is read again")
    func roundTrip() throws {
        #expect(try ACMEState(decoding: Self.state.encoded()) == Self.state)
        #expect(try ACMEState(decoding: ACMEState().encoded()) == ACMEState())
    }

    @Test("A state of an earlier version, without times of failures and finalized orders, is read")
    func beginning() throws {
        let text = String(decoding: Self.state.encoded(), as: UTF8.self)
        let orders = try #require(text.firstRange(of: #","finalized":["#))
        let older = (text[..<orders.lowerBound] + "}")
            .replacing(#","since":7"#, with: "").replacing(#","stored_at":9"#, with: "")
        let state = try ACMEState(decoding: Array(older.utf8))
        let failure = state.failure(of: "b.test")
        #expect(failure?.since == 8 && failure?.storedAt == 8)
        #expect(state.submittedOrders.isEmpty && state.pending == Self.state.pending)
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
        #expect(state.submittedOrders.isEmpty)
    }

    @Test("A name has one finalized order, at the directory that was asked, for a day")
    func finalizedOrder() {
        var state = Self.state
        let (newer, directory, day) = (Self.order("b.test", at: 100), "https://ca.test/dir", Int64(86_400))
        state.keep(newer)
        #expect(state.submittedOrders == [newer])
        #expect(state.submittedOrder("b.test", directory: directory, now: 99 + day) == newer)
        #expect(state.submittedOrder("b.test", directory: directory, now: 100 + day) == nil)
        #expect(state.submittedOrder("b.test", directory: "https://other.test/dir", now: 100) == nil)
        #expect(state.submittedOrder("a.test", directory: directory, now: 100) == nil)
        state.prune(names: ["b.test"], now: 99 + day)
        #expect(state.submittedOrders == [newer])
        state.prune(names: ["b.test"], now: 100 + day)
        #expect(state.submittedOrders.isEmpty)
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
