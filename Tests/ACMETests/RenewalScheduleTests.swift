import Cryptography
import Encoding
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
        (.notDelivered("away"), [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 43_200]),
        (.notDelivered("away", retryAfter: 500), [500, 600]),
    ]

    @Test("Each failure in a row is waited for longer", arguments: waits.indices)
    func backOff(number: Int) {
        let (error, expected) = Self.waits[number]
        let found = (1...expected.count).map { RenewalSchedule.wait(after: error, count: Int64($0)) }
        #expect(found == expected, "\(error)")
        #expect(RenewalSchedule.wait(after: error, count: .max) <= 604_800)
    }

    static let concerns: [(ACMEError, Bool)] = [
        (.refused(problem("userActionRequired")), true), (.refused(problem("externalAccountRequired")), true),
        (.refused(problem("unauthorized")), true), (.refused(problem("accountDoesNotExist")), true),
        (.refused(problem("rejectedIdentifier")), false), (.refused(problem("caa")), false),
        (.malformed("no JSON", isOfAll: true), true), (.malformed("the chain is too long"), false),
        (.notDelivered("away"), true), (.notValidated(problem("connection")), false),
    ]

    @Test("Errors that may be none of the name's concern all names", arguments: concerns.indices)
    func ofAll(number: Int) {
        let (error, isOfAll) = Self.concerns[number]
        #expect(RenewalSchedule.concernsAll(error) == isOfAll, "\(error)")
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

    private static let directory = "https://ca.test/dir"

    /// A certificate of `a.test`, with its begin and its end.
    private struct Made {
        let chain: [UInt8]
        let key: Secret
        let read: ServerCertificate

        init() throws {
            let signer = try P256SigningKey.generate()
            let chain = try signer.challengeCertificate(for: "a.test", digest: SHA256.hash([]))
            let read = try #require(ServerCertificate(chain: chain, for: "a.test"))
            (self.chain, self.read) = (chain, read)
            key = try signer.privateKeyPEM()
        }

        func obtained(
            at time: Int64, from directory: String = RenewalScheduleTests.directory
        ) -> ObtainedCertificate {
            ObtainedCertificate(name: "a.test", directory: directory, chain: chain, key: key, obtainedAt: time)
        }
    }

    private static func dueAt(
        _ certificate: ObtainedCertificate?, _ failure: ACMEState.Failure? = nil, now: Int64 = .max
    ) -> Int64 {
        RenewalSchedule.dueAt("a.test", certificate, failure, directory: directory, now: now)
    }

    @Test("A certificate is renewed after two thirds of its life, and a failure's wait holds")
    func renewal() throws {
        let made = try Made()
        let certificate = made.obtained(at: 0)
        let due = Self.dueAt(certificate)
        let life = made.read.notAfter - made.read.notBefore
        #expect((life / 3 * 2...life / 3 * 2 + life / 20).contains(due - made.read.notBefore))
        let failure = ACMEState.Failure(
            name: "a.test", count: 1, nextAt: due + 7, lastAt: due, since: due, storedAt: due, error: "")
        #expect(Self.dueAt(certificate, failure) == due + 7)
        #expect(Self.dueAt(nil, failure) == due + 7)
        #expect(Self.dueAt(nil) < 0)
    }

    @Test("A certificate that the directory made earlier is not renewed at once")
    func backdated() throws {
        let made = try Made()
        let left: Int64 = 3600
        let obtainedAt = made.read.notAfter - left
        let due = Self.dueAt(made.obtained(at: obtainedAt)) - obtainedAt
        #expect((left / 3 * 2...left / 3 * 2 + left / 20).contains(due))
        #expect(Self.dueAt(made.obtained(at: made.read.notAfter - 3)) == made.read.notAfter + 7)
        #expect(Self.dueAt(made.obtained(at: made.read.notAfter + 100)) >= made.read.notAfter + 110)
    }

    @Test("Another directory's certificate is replaced soon")
    func otherDirectory() throws {
        let made = try Made()
        let obtainedAt = made.read.notBefore + 5
        #expect(Self.dueAt(made.obtained(at: obtainedAt, from: "https://staging.test/dir")) == obtainedAt + 300)
        #expect(Self.dueAt(made.obtained(at: obtainedAt)) > obtainedAt + 300)
    }

    @Test("A certificate that was obtained while the clock was ahead is renewed as if from its begin")
    func obtainedAhead() throws {
        let made = try Made()
        let (begin, ahead) = (made.read.notBefore, made.read.notBefore + 40 * 86_400)
        let due = Self.dueAt(made.obtained(at: ahead), now: begin)
        #expect(due == Self.dueAt(made.obtained(at: begin)) && due < made.read.notAfter)
        let other = made.obtained(at: ahead, from: "https://staging.test/dir")
        #expect(Self.dueAt(other, now: begin) == begin + 300)
    }

    @Test("A wait that was stored while the clock was ahead holds no longer, and the next failure's does")
    func failedAhead() {
        let now: Int64 = 1_000_000
        let ahead = now + 40 * 86_400
        func fail(_ state: ACMEState, at time: Int64) -> ACMEState {
            var state = state
            let failures = RenewalSchedule.failures(
                after: .unreachable("away"), of: "a", among: ["a", "b", "c"], in: state, isOfAccount: false, at: time)
            for failure in failures { state.keep(failure) }
            return state
        }
        // One of the names that wait has failed before.
        let wrong = fail(Self.state([("b", 1, now - 100)]), at: ahead)
        #expect(Self.due(["a", "b", "c"], in: wrong, now: ahead) == [])
        #expect(Set(Self.due(["a", "b", "c"], in: wrong, now: now)) == ["a", "b", "c"])
        let right = fail(wrong, at: now)
        #expect(Self.due(["a", "b", "c"], in: right, now: now) == [])
        #expect(right.failures.allSatisfy { $0.since <= now && $0.nextAt <= now + 3600 })
        // The clock of another gateway is a little behind.
        #expect(Self.due(["a", "b", "c"], in: right, now: now - 60) == [])
    }

    @Test("A pause that began while the clock was ahead is over")
    func pausedAhead() {
        let now: Int64 = 1_000_000
        let pause = RenewalSchedule.pause(afterStorageFailures: 20)
        #expect(RenewalSchedule.pauseEnds(now + pause, now: now) == now + pause)
        #expect(RenewalSchedule.pauseEnds(now + 86_400 + pause, now: now) <= now)
    }

    // MARK: Several names

    private static func state(_ failures: [(name: String, count: Int64, lastAt: Int64)]) -> ACMEState {
        var state = ACMEState()
        for (name, count, lastAt) in failures {
            state.keep(
                ACMEState.Failure(
                    name: name, count: count, nextAt: lastAt + 10, lastAt: lastAt, since: lastAt, storedAt: lastAt,
                    error: ""))
        }
        return state
    }

    private static func due(_ names: [String], in state: ACMEState, now: Int64) -> [String] {
        RenewalSchedule.due(names, in: state, directory: directory, now: now)
    }

    @Test("The names that fail most have their turn last")
    func turns() {
        let state = Self.state([("a", 3, 50), ("b", 1, 40), ("c", 1, 30), ("d", 0, 0), ("e", 0, 95)])
        #expect(Self.due(["a", "b", "c", "d", "e", "f"], in: state, now: 100) == ["d", "f", "c", "b", "a"])
    }

    static let lasting: [ACMEError] = [
        .rateLimited(problem("rateLimited"), retryAfter: 604_800), .unreachable("500", retryAfter: 86_400),
        .refused(problem("unauthorized")), .foreignURL,
    ]

    @Test("A name that always fails keeps no other from being ordered", arguments: lasting)
    func isolation(error: ACMEError) {
        var (state, time): (ACMEState, Int64) = (ACMEState(), 1_000_000)
        var ordered: [String] = []
        for _ in 0..<2 {
            let due = Self.due(["bad", "b", "c"].filter { !ordered.contains($0) }, in: state, now: time)
            for name in due {
                guard name == "bad" else {
                    ordered.append(name)
                    continue
                }
                let failures = RenewalSchedule.failures(
                    after: error, of: name, among: due.filter { !ordered.contains($0) }, in: state,
                    isOfAccount: false, at: time)
                for failure in failures { state.keep(failure) }
                break
            }
            time += 3600
        }
        #expect(ordered == ["b", "c"], "\(error)")
        #expect(state.failure(of: "bad")?.count ?? 0 >= 1 && state.failure(of: "b")?.count ?? 0 == 0)
    }

    @Test("A directory that fails each order is asked less and less often, whichever name has its turn")
    func rounds() {
        var (state, time): (ACMEState, Int64) = (ACMEState(), 1_000_000)
        var waits: [Int64] = []
        for _ in 0..<5 {
            let due = Self.due(["a", "b", "c"], in: state, now: time)
            let failures = RenewalSchedule.failures(
                after: .unreachable("500"), of: due[0], among: due, in: state, isOfAccount: false, at: time)
            for failure in failures { state.keep(failure) }
            let next = state.failures.map(\.nextAt).min() ?? time
            waits.append(next - time)
            time = next
        }
        #expect(waits == [10, 20, 40, 80, 160])
    }

    @Test("An error of the account or the directory is one of all names, with the wait that it asks for")
    func account() {
        let state = Self.state([("b", 2, 50)])
        let failures = RenewalSchedule.failures(
            after: .unreachable("away", retryAfter: 90), of: "a", among: ["a", "b"], in: state, isOfAccount: true,
            at: 100)
        #expect(failures.map(\.name) == ["a", "b"] && failures.map(\.count) == [1, 3])
        #expect(failures.map(\.nextAt) == [190, 190] && failures.map(\.lastAt) == [100, 100])
        // The second one fails since before.
        #expect(failures.map(\.since) == [100, 50])
    }

    @Test("An error of one name is that name's")
    func ownError() {
        let failures = RenewalSchedule.failures(
            after: .notValidated(Self.problem("dns")), of: "a", among: ["a", "b"], in: ACMEState(), isOfAccount: false,
            at: 100)
        #expect(failures.map(\.name) == ["a"] && failures.map(\.nextAt) == [400])
    }
}
