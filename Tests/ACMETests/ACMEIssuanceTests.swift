import Cryptography
import Foundation
import Synchronization
import Testing

@testable import ACME

@Suite("An order of a certificate", .timeLimit(.minutes(10)))
struct ACMEIssuanceTests {
    /// Waits move its clock, and nothing else does.
    private final class Stage: ACMEIssuanceDelegate {
        struct State {
            var time: Int64
            var waits: [Int64] = []
            var presented: [ACMEChallenge] = []
            var withdrawn: [ACMEChallenge] = []
            /// The order that was stored last.
            var kept: (url: String, key: Secret)?
        }

        private let state: Mutex<State>
        /// Whether another gateway takes over once a challenge is presented.
        private let losesLease: Bool

        init(time: Int64, losesLease: Bool) {
            state = Mutex(State(time: time))
            self.losesLease = losesLease
        }

        var now: State { state.withLock { $0 } }

        func present(_ challenge: ACMEChallenge) async throws { state.withLock { $0.presented.append(challenge) } }
        func withdraw(_ challenge: ACMEChallenge) async throws { state.withLock { $0.withdrawn.append(challenge) } }
        func storeOrder(_ url: String, _ key: Secret) async throws { state.withLock { $0.kept = (url, key) } }
        func renewLease() async throws {
            if losesLease, !now.presented.isEmpty { throw ACMEError.leaseLost }
        }
        func wait(_ seconds: Int64) async throws {
            try Task.checkCancellation()
            state.withLock { state in
                state.time += seconds
                state.waits.append(seconds)
            }
        }
    }

    private struct Order {
        let delegate: Stage
        private let issuance: ACMEIssuance

        /// - Parameters:
        ///   - ahead: how many seconds the gateway's clock is ahead of the authority's.
        ///   - left: the stage of an order that is to be gone on with.
        init(
            _ directory: ScriptedDirectory, ahead: Int64 = 0, replacesValid: Bool = false, losesLease: Bool = false,
            left: Stage? = nil
        ) throws {
            let delegate = Stage(time: Int64(Date().timeIntervalSince1970) + ahead, losesLease: losesLease)
            let now: @Sendable () -> Int64 = { delegate.now.time }
            self.delegate = delegate
            issuance = ACMEIssuance(
                client: ACMEClient(
                    directory: "https://ca.test/dir", key: try P256SigningKey.generate(), fetcher: directory,
                    now: now),
                delegate: delegate, name: "a.test", challenge: .http,
                left: left?.now.kept.map {
                    ACMEState.SubmittedOrder(
                        name: "a.test", directory: "https://ca.test/dir", url: $0.url, key: $0.key,
                        storedAt: now())
                }, replacesValid: replacesValid, now: now,
                canServe: { _, _ in true })
        }

        func run() async throws -> ACMEIssuance.Issued { try await issuance.run() }

        /// Nil where there is none.
        func error() async throws -> ACMEError? {
            do {
                _ = try await issuance.run()
                return nil
            } catch let error as ACMEError {
                return error
            }
        }
    }

    // MARK: After the order was finalized

    static let hitches: [[String: [ScriptedDirectory.Reply]]] = [
        ["finalize": [.lost]],
        ["finalize": [.lost], "order": [.own, .away, .status(502), .status(429, retryAfter: 5)]],
        ["finalize": [.away]],
        ["finalize": [.status(503), .status(503)]],
        ["finalize": [.status(429)]],
        ["certificate": [.status(503), .away, .lost, .status(429), .status(500)]],
    ]

    @Test("What passes after an order was finalized does not end the order", arguments: hitches.indices)
    func hitch(number: Int) async throws {
        let directory = ScriptedDirectory(Self.hitches[number])
        _ = try await Order(directory).run()
        #expect(await directory.count("new") == 1)
        let isCarriedOut = if case .lost? = Self.hitches[number]["finalize"]?.first { true } else { false }
        if isCarriedOut { #expect(await directory.count("finalize") == 1) }
    }

    @Test("What does not pass within five minutes ends the order, with the wait of a failed one")
    func lastingHitch() async throws {
        let hitches: [(status: Int, retryAfter: Int?)] = [(503, nil), (503, 20), (429, nil)]
        for (status, retryAfter) in hitches {
            let replies = Array(repeating: ScriptedDirectory.Reply.status(status, retryAfter: retryAfter), count: 1000)
            let order = try Order(ScriptedDirectory(["certificate": replies]))
            let found = try await order.error()
            let error = try #require(found)
            #expect((250...300).contains(order.delegate.now.waits.reduce(0, +)), "\(error)")
            #expect(RenewalSchedule.wait(after: error, count: 1) >= 300, "\(error)")
            #expect(RenewalSchedule.wait(after: error, count: 2) >= 600, "\(error)")
            #expect(RenewalSchedule.concernsAll(error), "\(error)")
        }
    }

    @Test("Before that, the order ends at once", arguments: ["new", "authorization", "challenge"])
    func earlyHitch(step: String) async throws {
        let directory = ScriptedDirectory([step: [.status(503)]])
        let order = try Order(directory)
        #expect(try await order.error() == ACMEError.unreachable("status 503"))
        #expect(order.delegate.now.waits.isEmpty)
        #expect(await directory.count("finalize") == 0)
    }

    @Test("A directory that takes minutes is waited for, ever less often, however soon it wants to be asked again")
    func slow() async throws {
        let order = try Order(ScriptedDirectory(delays: 50))
        _ = try await order.run()
        let waits = order.delegate.now.waits
        #expect(waits.first == 1 && waits.last == 10 && waits == waits.sorted())
        let endless = try Order(ScriptedDirectory(delays: 1000))
        #expect(try await endless.error() == ACMEError.tookTooLong("the order"))
        #expect((250...300).contains(endless.delegate.now.waits.reduce(0, +)))
    }

    // MARK: An order that somebody else has begun

    /// Whether the run of an order ends because its task is cancelled.
    private static func isCancelled(_ order: Order) async -> Bool {
        let task = Task { try await order.run() }
        let result = await task.result
        return task.isCancelled && (try? result.get()) == nil
    }

    static let ends: [(step: String, replies: [ScriptedDirectory.Reply])] = [
        ("finalize", [.cancels]), ("order", [.own, .cancels]), ("certificate", [.cancels]),
    ]

    @Test(
        "A gateway that ends behind the finalization leaves an order that another one finishes",
        arguments: ends.indices)
    func leftOrder(number: Int) async throws {
        let (step, replies) = Self.ends[number]
        let directory = ScriptedDirectory([step: replies], delays: 2)
        let first = try Order(directory)
        #expect(await Self.isCancelled(first))
        let kept = try #require(first.delegate.now.kept)
        let issued = try await Order(directory, left: first.delegate).run()
        #expect(issued.key == kept.key)
        #expect(await directory.count("new") == 1)
    }

    static let failures: [(replies: [ScriptedDirectory.Reply], isOrderedAnew: Bool)] = [
        ([.status(404)], true), ([.status(403)], true), ([.status(503)], false), ([.status(429)], false),
        ([.away], false),
    ]

    @Test("Only an order that the directory does not know is replaced by a new one", arguments: failures.indices)
    func forgotten(number: Int) async throws {
        let (replies, isOrderedAnew) = Self.failures[number]
        // The first answer is that the order is ready.
        let directory = ScriptedDirectory(["certificate": [.cancels], "order": [.own] + replies])
        let first = try Order(directory)
        #expect(await Self.isCancelled(first))
        let second = try Order(directory, left: first.delegate)
        #expect(try await (second.error() == nil) == isOrderedAnew)
        #expect(await directory.count("new") == (isOrderedAnew ? 2 : 1))
        #expect((second.delegate.now.kept != nil) == isOrderedAnew)
    }

    @Test("An order that ended otherwise, or whose key cannot be read, is replaced by a new one")
    func invalid() async throws {
        let directory = ScriptedDirectory(["certificate": [.cancels]])
        let first = try Order(directory)
        #expect(await Self.isCancelled(first))
        await directory.endOrder(as: "invalid")
        _ = try await Order(directory, left: first.delegate).run()
        #expect(await directory.count("new") == 2)
        let unreadable = Stage(time: first.delegate.now.time, losesLease: false)
        try await unreadable.storeOrder("https://ca.test/order", Secret("no key"))
        _ = try await Order(directory, left: unreadable).run()
        #expect(await directory.count("new") == 3)
    }

    // MARK: The certificate

    @Test("A chain ends with the first of its certificates, and is not used afterwards")
    func chain() async throws {
        let issued = try await Order(ScriptedDirectory()).run()
        let life = issued.certificate.notAfter - issued.certificate.notBefore
        #expect(abs(life - ScriptedDirectory.authorityLife) < 60)
        let late = try Order(ScriptedDirectory(), ahead: ScriptedDirectory.authorityLife + 60)
        #expect(try await late.error() == ACMEError.malformed("a certificate of the chain has expired"))
    }

    static let beginnings: [(ahead: Int64, replacesValid: Bool, isUsed: Bool)] = [
        (-3000, true, false), (-3000, false, true), (-200, true, true), (-90_000, false, false),
    ]

    @Test("A certificate that is not valid yet replaces none that is", arguments: beginnings.indices)
    func notValidYet(number: Int) async throws {
        let (ahead, replacesValid, isUsed) = Self.beginnings[number]
        let found = try await Order(ScriptedDirectory(), ahead: ahead, replacesValid: replacesValid).error()
        let expected: ACMEError? = isUsed ? nil : .malformed("the certificate is not valid yet")
        #expect(found == expected)
    }

    // MARK: The challenge

    @Test("A challenge is withdrawn when the order goes on, or ends")
    func withdrawal() async throws {
        let scripts: [[String: [ScriptedDirectory.Reply]]] = [[:], ["challenge": [.status(503)]]]
        for replies in scripts {
            let order = try Order(ScriptedDirectory(replies))
            _ = try await order.error()
            #expect(order.delegate.now.presented.count == 1)
            #expect(order.delegate.now.withdrawn == order.delegate.now.presented)
        }
    }

    @Test("A gateway that has lost the lease leaves the challenge to the one that has it, which may be the same")
    func leaseLost() async throws {
        let order = try Order(ScriptedDirectory(), losesLease: true)
        #expect(try await order.error() == ACMEError.leaseLost)
        #expect(order.delegate.now.presented.count == 1)
        #expect(order.delegate.now.withdrawn.isEmpty)
    }
}
