import ClockSteps
import Cryptography
import Encoding
import Keys
import Logging
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import HTTPClient
@testable import Store

@Suite("Outbox")
struct OutboxTests {
    let clock = MillisecondClock()

    func records() throws -> StoredOutbox {
        let store = try Store(path: ":memory:", migrations: GatewayStore.migrations, queueing: .seconds(120))
        try store.followPruningClock(now: clock.now / 1000) { [clock] in clock.uptime }
        return StoredOutbox(store)
    }

    func outbox(_ records: any OutboxRecords, _ receiver: ScriptedReceiver?) -> Outbox {
        let outbox = Outbox(
            records: records, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { [clock] in clock.now }, random: { 0 })
        if let receiver { outbox.adopt([Self.receiver(receiver)]) }
        return outbox
    }

    static func receiver(_ fetcher: any Fetcher, secret: Secret? = nil) -> WebhookReceiver {
        WebhookReceiver(
            name: "backend", url: "https://backend.test/users", audience: "backend", secret: secret,
            timeout: .seconds(5), issuer: nil, header: "X-Auth-Assertion", keys: nil, fetcher: fetcher)
    }

    func message(_ key: String) -> OutboxMessage {
        OutboxMessage(
            key: key, destination: "backend", kind: "signed_in", subject: "s-1", body: "{\"key\":\"\(key)\"}",
            createdAt: clock.now)
    }

    /// Records whose removal of old messages takes until its task is cancelled.
    private struct WaitingRecords: OutboxRecords {
        let began: AsyncStream<Void>.Continuation

        func removeOlder(than age: Int64, now: Int64) async throws -> [OutboxMessage] {
            began.yield()
            try await Task.sleep(for: .seconds(3600))
            return []
        }

        func add(_ message: OutboxMessage) async throws -> Bool { true }
        func claim(
            for destination: String, now: Int64, lease: Int64, longestPause: Int64, limit: Int
        ) async throws -> [OutboxMessage] { [] }
        func remove(key: String) async throws {}
        func postpone(key: String, until: Int64) async throws {}
        func counts() async throws -> [OutboxCount] { [] }
    }

    /// Records in which so many messages wait already, and that count how often they are written to and counted.
    private final class FullRecords: OutboxRecords {
        private let waiting: [OutboxCount]
        private let calls = Mutex((written: 0, counted: 0))
        var written: Int { calls.withLock { $0.written } }
        var counted: Int { calls.withLock { $0.counted } }

        init(_ waiting: OutboxCount...) { self.waiting = waiting }

        func add(_ message: OutboxMessage) async throws -> Bool {
            calls.withLock { $0.written += 1 }
            return true
        }
        func counts() async throws -> [OutboxCount] {
            calls.withLock { $0.counted += 1 }
            return waiting
        }
        func claim(
            for destination: String, now: Int64, lease: Int64, longestPause: Int64, limit: Int
        ) async throws -> [OutboxMessage] { [] }
        func remove(key: String) async throws {}
        func postpone(key: String, until: Int64) async throws {}
        func removeOlder(than age: Int64, now: Int64) async throws -> [OutboxMessage] { [] }
    }

    @Test("A full queue costs no write, and none of its messages is counted for one more")
    func full() async throws {
        let records = FullRecords(
            OutboxCount(destination: "backend", mustArrive: false, count: Outbox.limit - 2),
            OutboxCount(destination: "apple", mustArrive: true, count: Outbox.limit))
        let outbox = outbox(records, nil)
        await outbox.readWaiting()
        #expect(outbox.status.waiting == 2 * Outbox.limit - 2)
        var taken: [Bool] = []
        for number in 0..<100 { taken.append(await outbox.add(message("k-\(number)"))) }
        #expect(taken == [true, true] + Array(repeating: false, count: 98))
        #expect(records.written == 2 && records.counted == 1)
        #expect(outbox.status.lost == 98)
        for (destination, mustArrive) in [("backend", true), ("apple", false), ("apple", true)] {
            var message = message("\(destination)-\(mustArrive)")
            (message.destination, message.mustArrive) = (destination, mustArrive)
            #expect(await outbox.add(message) == (destination == "backend" || !mustArrive))
        }
        await outbox.readWaiting()
        #expect(await outbox.add(message("k-100")), "what has gone since makes room")
    }

    @Test("A stop while the database is asked is no error")
    func stop() async throws {
        let (began, continuation) = AsyncStream<Void>.makeStream()
        let log = CapturedLog()
        let outbox = Outbox(
            records: WaitingRecords(began: continuation), logger: log.logger, now: { 0 }, random: { 0 })
        let running = Task { await outbox.run() }
        for await _ in began { break }
        running.cancel()
        await running.value
        #expect(log.lines.isEmpty)
    }

    /// Receives, or fails, once the delivery is cancelled.
    private struct UntilCancelled: OutboxReceiver {
        let name = "backend"
        let timeout = Duration.seconds(5)
        let receives: Bool
        let came: AsyncStream<Void>.Continuation

        func send(_ message: OutboxMessage) async throws(DeliveryFailure) {
            came.yield()
            // Fails when the delivery is cancelled.
            try? await Task.sleep(for: .seconds(3600))
            if !receives { throw .noAnswer(.cancelled) }
        }
    }

    @Test("A stop during a delivery is no failure, and sends nothing twice and nothing more", arguments: [true, false])
    func stopInDelivery(receives: Bool) async throws {
        let (came, continuation) = AsyncStream<Void>.makeStream()
        let (records, log) = (try records(), CapturedLog())
        let outbox = Outbox(records: records, logger: log.logger, now: { [clock] in clock.now }, random: { 0 })
        outbox.adopt([UntilCancelled(receives: receives, came: continuation)])
        #expect(try await records.add(message("k-1")))
        let running = Task { await outbox.run() }
        for await _ in came { break }
        running.cancel()
        await running.value
        #expect(log.lines.isEmpty)
        #expect(outbox.status.failures == 0 && outbox.status.delivered == (receives ? 1 : 0))
        #expect(try await records.count() == (receives ? 0 : 1))
        let receiver = ScriptedReceiver()
        outbox.adopt([Self.receiver(receiver)])
        #expect(await outbox.add(message("k-2")))
        await outbox.sendDue()
        #expect(receiver.requests.isEmpty)
    }

    @Test("What is received is sent once, with a key to know it by")
    func once() async throws {
        let receiver = ScriptedReceiver()
        let records = try records()
        let outbox = outbox(records, receiver)
        #expect(try await records.add(message("k-1")))
        await outbox.sendDue()
        clock.advance(86_400_000)
        await outbox.sendDue()
        #expect(receiver.bodies == ["{\"key\":\"k-1\"}"])
        let headers = try #require(receiver.requests.first).headers
        #expect(headers.contains { $0 == ("Idempotency-Key", "k-1") })
        #expect(try await records.count() == 0)
        #expect(outbox.status.delivered == 1)
    }

    @Test(
        "What is not received is sent again with the same key, after twice as long each time",
        arguments: [500, 0, 404, 302])
    func again(status: Int) async throws {
        let receiver = ScriptedReceiver(status, status, status)
        let records = try records()
        let outbox = outbox(records, receiver)
        _ = try await records.add(message("k-1"))
        for pause: Int64 in [1000, 2000, 4000] {
            let before = receiver.requests.count
            await outbox.sendDue()
            #expect(receiver.requests.count == before + 1)
            clock.advance(pause - 1)
            await outbox.sendDue()
            #expect(receiver.requests.count == before + 1)
            clock.advance(1)
        }
        await outbox.sendDue()
        #expect(Set(receiver.bodies).count == 1)
        #expect(receiver.requests.count == 4)
        #expect(outbox.status.failures == 3)
        #expect(try await records.count() == 0)
    }

    @Test(
        "Pauses double up to an hour, with up to a fifth of spread",
        arguments: [
            (1, 1000), (2, 2000), (11, 1_024_000), (12, 2_048_000), (13, 3_600_000), (9999, 3_600_000),
            (0, 1000), (.min, 1000), (.max, 3_600_000),
        ] as [(Int, Int64)])
    func pauses(attempts: Int, pause: Int64) {
        #expect(Outbox.pause(afterAttempts: attempts, 0) == pause)
        #expect(Outbox.pause(afterAttempts: attempts, 1) == pause - pause / 5)
    }

    func claim(_ records: StoredOutbox) async throws -> [OutboxMessage] {
        try await records.claim(for: "backend", now: clock.now, lease: 10_000, longestPause: 3_600_000, limit: 9)
    }

    @Test("A message that ends the process each time is taken ever more rarely, up to once an hour")
    func endsTheProcess() async throws {
        let records = try records()
        _ = try await records.add(message("k-1"))
        for pause: Int64 in [1000, 2000, 4000] {
            #expect(try await claim(records).count == 1)
            clock.advance(10_000 + pause - 1)
            #expect(try await claim(records).isEmpty)
            clock.advance(1)
        }
        for _ in 0..<20 {
            clock.advance(3_610_000)
            #expect(try await claim(records).count == 1)
        }
    }

    @Test(
        "A count of attempts that no gateway has written keeps no message from being sent",
        arguments: [Int.min, -1, .max])
    func strangeAttempts(attempts: Int) async throws {
        let records = try records()
        var strange = message("k-1")
        strange.attempts = attempts
        _ = try await records.add(strange)
        let receiver = ScriptedReceiver(500)
        let outbox = outbox(records, receiver)
        await outbox.sendDue()
        clock.advance(3_600_000)
        await outbox.sendDue()
        #expect(receiver.requests.count == 2)
        #expect(try await records.count() == 0)
    }

    @Test("What a process that ended has taken is sent by the next one")
    func survives() async throws {
        let records = try records()
        _ = try await records.add(message("k-1"))
        // Taken, and never heard of again.
        #expect(try await claim(records).count == 1)
        let receiver = ScriptedReceiver()
        let outbox = outbox(records, receiver)
        await outbox.sendDue()
        #expect(receiver.requests.isEmpty)
        clock.advance(11_000)
        await outbox.sendDue()
        #expect(receiver.requests.count == 1)
    }

    @Test("Two processes with one store do not send one message at the same time")
    func claims() async throws {
        let records = try records()
        for number in 0..<10 { _ = try await records.add(message("k-\(number)")) }
        async let first = records.claim(for: "backend", now: clock.now, lease: 1000, longestPause: 0, limit: 6)
        async let second = records.claim(for: "backend", now: clock.now, lease: 1000, longestPause: 0, limit: 6)
        let keys = try await (first + second).map(\.key)
        #expect(keys.count == 10)
        #expect(Set(keys).count == 10)
    }

    /// Answers when the test lets it, and counts who waits.
    actor SlowReceiver: OutboxReceiver {
        nonisolated let name: String
        nonisolated let timeout = Duration.seconds(5)
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var isOpen = false
        private(set) var came = 0

        init(_ name: String) { self.name = name }

        func send(_ message: OutboxMessage) async throws(DeliveryFailure) {
            came += 1
            if !isOpen { await withCheckedContinuation { waiting.append($0) } }
        }

        func open() {
            isOpen = true
            for each in waiting { each.resume() }
            waiting = []
        }
    }

    @Test("A destination that does not answer holds up no other one", .timeLimit(.minutes(10)))
    func destinations() async throws {
        let (slow, receiver, records) = (SlowReceiver("slow"), ScriptedReceiver(), try records())
        let outbox = outbox(records, nil)
        outbox.adopt([slow, Self.receiver(receiver)])
        for number in 0..<100 {
            var waiting = message("slow-\(number)")
            waiting.destination = "slow"
            #expect(try await records.add(waiting))
            #expect(try await records.add(message("k-\(number)")))
        }
        async let sent: Void = outbox.sendDue()
        while try await records.count() > 100 { await Task.yield() }
        #expect(receiver.requests.count == 100)
        #expect(await slow.came <= 16, "so many at the same time")
        await slow.open()
        await sent
        #expect(try await records.count() == 0)
        #expect(await slow.came == 100)
    }

    @Test("What waits is counted by destination, and what must arrive apart")
    func rooms() async throws {
        let records = try records()
        for (destination, mustArrive, count) in [("a", false, 3), ("a", true, 2), ("b", false, 1)] {
            for number in 0..<count {
                var message = message("\(destination)-\(mustArrive)-\(number)")
                (message.destination, message.mustArrive) = (destination, mustArrive)
                #expect(try await records.add(message))
            }
        }
        let counts = try await records.counts().map { "\($0.destination) \($0.mustArrive) \($0.count)" }
        #expect(counts.sorted() == ["a false 3", "a true 2", "b false 1"])
        #expect(try await records.count() == 6)
    }

    @Test(
        "What a clock that was ahead has postponed is due once that is set back",
        arguments: [2 * 3_600_000, 40 * 86_400_000] as [Int64])
    func setBack(step: Int64) async throws {
        let (records, receiver) = (try records(), ScriptedReceiver(500))
        let outbox = outbox(records, receiver)
        clock.advance(step)
        #expect(try await records.add(message("k-1")))
        #expect(try await records.add(message("k-2")))
        await outbox.sendDue()
        #expect(receiver.requests.count == 2)
        #expect(try await records.add(message("k-3")))
        clock.advance(-step)
        await outbox.sendDue()
        #expect(receiver.requests.count == 4)
        #expect(try await records.count() == 0)
    }

    @Test(
        "A clock that is wrong for a while loses no message, and none is much later for it",
        arguments: ClockSteps.allCases, [1, 7])
    func steps(steps: ClockSteps, failures: Int) async throws {
        let (records, receiver) = (try records(), ScriptedReceiver())
        let failing = outbox(records, ScriptedReceiver(500, 500, 500, 500, 500, 500, 500, 500, 500))
        #expect(try await records.add(message("k-1")))
        for _ in 0..<failures {
            await failing.sendDue()
            clock.advance(64_000)
        }
        try await clock.take(steps) { () async throws in
            #expect(try await records.removeOlder(than: Outbox.lifetime, now: clock.now).isEmpty)
            await failing.sendDue()
        }
        #expect(try await records.removeOlder(than: Outbox.lifetime, now: clock.now).isEmpty)
        // As long as the longest pause so far, and once more of it for an attempt by the wrong clock.
        clock.advance(2 * 128_000)
        await outbox(records, receiver).sendDue()
        #expect(receiver.bodies == ["{\"key\":\"k-1\"}"])
        #expect(try await records.count() == 0)
    }

    @Test("A key counts once")
    func bounds() async throws {
        let records = try records()
        #expect(try await records.add(message("k-1")))
        #expect(try await !records.add(message("k-1")))
        #expect(try await records.add(message("k-2")))
        #expect(try await records.count() == 2)
    }

    @Test("What waits for a receiver that is gone waits on")
    func noReceiver() async throws {
        let records = try records()
        _ = try await records.add(message("k-1"))
        await outbox(records, nil).sendDue()
        #expect(try await records.count() == 1)
        clock.advance(3_600_000)
        let receiver = ScriptedReceiver()
        await outbox(records, receiver).sendDue()
        #expect(receiver.requests.count == 1)
    }

    @Test("A week later it is given up, whatever the clock was meanwhile", arguments: ClockSteps.passing)
    func givenUp(steps: ClockSteps) async throws {
        let records = try records()
        _ = try await records.add(message("k-1"))
        try await clock.take(steps) { () async throws in
            #expect(try await records.removeOlder(than: Outbox.lifetime, now: clock.now).isEmpty)
        }
        clock.advance(Outbox.lifetime + 1)
        _ = try await records.add(message("k-2"))
        #expect(try await records.removeOlder(than: Outbox.lifetime, now: clock.now).map(\.key) == ["k-1"])
        #expect(try await records.count() == 1)
    }

    @Test("A secret signs the body")
    func signature() async throws {
        let fetcher = ScriptedReceiver()
        try await Self.receiver(fetcher, secret: Secret("key")).send(message("k-1"))
        let value = fetcher.requests.first?.headers.first { $0.name == "X-Gatehouse-Signature" }?.value
        let code = HMACSHA256.authenticationCode(for: Array("{\"key\":\"k-1\"}".utf8), key: Array("key".utf8))
        #expect(value == "sha256=" + Hexadecimal.encode(code))
    }

    @Test("An assertion is dated by the gateway's clock, also where the records have another one")
    func dated() async throws {
        try await withDirectory { path in
            let keys = AssertionKeyService(
                storage: KeyRingFile(.assertion, stateDirectory: path),
                schedule: RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 0),
                logger: CapturedLog().logger, now: { 1 }, publish: {})
            try await keys.follow()
            let (stored, fetcher) = (try records(), ScriptedReceiver())
            let gatewayTime = clock.now / 1000 - 120
            var receiver = Self.receiver(fetcher)
            receiver.issuer = "https://api.example"
            receiver.keys = keys
            receiver.now = { gatewayTime }
            let sender = outbox(stored, nil)
            sender.adopt([receiver])
            #expect(try await stored.add(message("k-1")))
            await sender.sendDue()
            let headers = try #require(fetcher.requests.first).headers
            let token = try #require(headers.first { $0.name == "X-Auth-Assertion" }?.value)
            let claims = try JSON.parse(try #require(Base64URL.decode(token.split(separator: ".")[1].utf8)))
            #expect(claims["iat"]?.integerValue == gatewayTime)
        }
    }
}

@Suite("Notices")
struct WebhookEventTests {
    @Test("A notice says who tells whom of what, and is no assertion")
    func claims() throws {
        let key = AssertionKey(try P256SigningKey.generate())
        let body = Array("{}".utf8)
        let notice = WebhookEvent(
            issuer: "https://api.example", audience: "backend", subject: "s-1", event: "signed_in", key: "k-1",
            body: body)
        let parts = try notice.token(signedWith: key, now: 1000).split(separator: ".")
        func json(_ index: Int) throws -> JSON { try JSON.parse(try #require(Base64URL.decode(parts[index].utf8))) }
        #expect(try json(0)["typ"] == "gatehouse-notice+jwt")
        #expect(try json(0)["kid"] == .string(key.id))
        let claims = try json(1)
        #expect(claims["iss"] == "https://api.example")
        #expect(claims["aud"] == "backend")
        #expect(claims["sub"] == "s-1")
        #expect(claims["jti"] == "k-1")
        #expect(claims["iat"] == 1000)
        #expect(claims["exp"] == 1060)
        #expect(claims["event"] == "signed_in")
        #expect(claims["body_sha256"] == .string(Base64URL.encode(SHA256.hash(body))))
    }
}
