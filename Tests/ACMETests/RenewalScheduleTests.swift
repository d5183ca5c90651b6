import Cryptography
import Testing

@testable import ACME

@Suite("When certificates are ordered")
struct RenewalScheduleTests {
    private static func problem(_ type: String) -> ACMEProblem {
        ACMEProblem(["type": .string("urn:ietf:params:acme:error:\(type)")], status: 400)
    }

    static let waits: [(ACMEError, [Int64])] = [
        (.unreachable("away"), [10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800]),
        (.unreachable("away", retryAfter: 90), [90, 90, 90, 90, 160]),
        (.rateLimited(problem("rateLimited"), retryAfter: nil), [3600, 7200, 14_400, 28_800, 43_200]),
        (.rateLimited(problem("rateLimited"), retryAfter: 100_000), [100_000, 100_000]),
        (.rateLimited(problem("rateLimited"), retryAfter: .max), [604_800]),
        (.notValidated(problem("connection")), [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 43_200]),
        (.refused(problem("accountDoesNotExist")), [0, 600]),
        (.foreignURL, [300, 600]),
    ]

    @Test("Each failure in a row is waited for longer", arguments: waits.indices)
    func backOff(number: Int) {
        let (error, expected) = Self.waits[number]
        let found = (1...expected.count).map { RenewalSchedule.wait(after: error, count: Int64($0)) }
        #expect(found == expected, "\(error)")
        #expect(RenewalSchedule.wait(after: error, count: .max) <= 604_800)
    }

    @Test("At most four validations fail within an hour, of the five that Let's Encrypt allows")
    func validations() {
        var (time, count): (Int64, Int64) = (0, 0)
        while time < 3600 {
            count += 1
            time += RenewalSchedule.wait(after: .notValidated(Self.problem("connection")), count: count)
        }
        #expect(count == 4)
    }

    @Test("A certificate is renewed after two thirds of its life, and a failure's wait holds")
    func renewal() throws {
        let name = "a.test"
        let key = try P256SigningKey.generate()
        let chain = try key.challengeCertificate(for: name, digest: SHA256.hash([]))
        let read = try #require(ServerCertificate(chain: chain, for: name))
        let certificate = ObtainedCertificate(name: name, chain: chain, key: try key.privateKeyPEM(), obtainedAt: 0)
        let due = RenewalSchedule.dueAt(name, certificate, nil)
        let life = read.notAfter - read.notBefore
        #expect((life / 3 * 2...life / 3 * 2 + life / 20).contains(due - read.notBefore))
        let failure = ACMEState.Failure(name: name, count: 1, nextAt: due + 7, lastAt: due, error: "")
        #expect(RenewalSchedule.dueAt(name, certificate, failure) == due + 7)
        #expect(RenewalSchedule.dueAt(name, nil, failure) == due + 7)
        #expect(RenewalSchedule.dueAt(name, nil, nil) < 0)
    }
}

@Suite("The stored state")
struct ACMEStateTests {
    private static var state: ACMEState {
        var state = ACMEState()
        state.account = .init(directory: "https://ca.test/dir", key: Secret("key"), url: nil, contacts: ["a@b.test"])
        state.keep(ObtainedCertificate(name: "a.test", chain: Array("chain\n".utf8), key: Secret("k"), obtainedAt: 5))
        state.keep(ACMEState.Failure(name: "b.test", count: 2, nextAt: 9, lastAt: 8, error: "why \"so\""))
        let challenge = ACMEChallenge(type: .http, name: "b.test", token: "t", keyAuthorization: "t.x")
        state.pending = [.init(challenge: challenge, endsAt: 10)]
        return state
    }

    @Test("What is stored is read again")
    func roundTrip() throws {
        #expect(try ACMEState(decoding: Self.state.encoded()) == Self.state)
        #expect(try ACMEState(decoding: ACMEState().encoded()) == ACMEState())
    }

    @Test(
        "What is damaged is not taken for an empty state", arguments: ["", "{}", "[]", #"{"acme":2}"#, #"{"acme":1}"#])
    func damaged(text: String) {
        #expect(throws: ACMEState.Damaged.self) { try ACMEState(decoding: Array(text.utf8)) }
    }

    @Test("A certificate takes the place of the one before, and ends the failures of its name")
    func keeping() {
        var state = Self.state
        state.keep(ObtainedCertificate(name: "b.test", chain: [], key: Secret("k"), obtainedAt: 6))
        state.keep(ObtainedCertificate(name: "b.test", chain: [], key: Secret("k"), obtainedAt: 7))
        #expect(state.certificates.map(\.obtainedAt) == [5, 7] && state.failures.isEmpty)
    }
}
