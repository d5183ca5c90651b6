import ClockSteps
import Encoding
import Foundation
import Logging
import TestSupport
import Testing

@testable import HTTPClient
@testable import Keys
@testable import Pipeline

@Suite("Key sets: fetching and keeping", .timeLimit(.minutes(10)))
struct KeySetServiceTests {
    // MARK: Look-ups

    @Test("A thousand tokens of a key that is not there yet cause one fetch")
    func oneFlight() async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), isOpen: false)
        let answers = await withTaskGroup(of: String.self) { tasks in
            for _ in 0..<1000 { tasks.addTask { await fixture.lookUp("key-1") } }
            await fixture.fetcher.awaitCall()
            await fixture.fetcher.open()
            return await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == ["refreshed": 1000])
        #expect(await fixture.fetcher.calls == 1)
        #expect(fixture.published.all == [["key-1"]])
    }

    @Test("A thousand tokens while nothing can be fetched share the failure, and cause one fetch a second")
    func oneFailingFlight() async throws {
        let fixture = KeySetFixture(.failure(.timedOut), isOpen: false)
        let answers = await withTaskGroup(of: String.self) { tasks in
            for _ in 0..<1000 { tasks.addTask { await fixture.lookUp("key-1") } }
            await fixture.fetcher.awaitCall()
            await fixture.fetcher.open()
            return await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == ["unavailable": 1000])
        #expect(await fixture.fetcher.calls == 1)
        #expect(await fixture.lookUp("key-1") == "unavailable")
        #expect(await fixture.fetcher.calls == 1)
        fixture.clock.advance(1)
        await fixture.fetcher.answer(try KeySetFixture.answer("key-1"))
        #expect(await fixture.lookUp("key-1") == "refreshed")
        #expect(await fixture.fetcher.calls == 2)
        #expect(fixture.published.all == [["key-1"]])
    }

    @Test("Ten thousand tokens of unknown keys cause one fetch in each interval", arguments: ClockSteps.allCases)
    func unknownKeys(steps: ClockSteps) async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"))
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 1)
        for index in 0..<10_000 { _ = await fixture.service.lookUp("made-up-\(index)") }
        #expect(await fixture.fetcher.calls == 2)
        fixture.clock.advance(59)
        #expect(await fixture.lookUp("made-up") == "unchanged")
        #expect(await fixture.fetcher.calls == 2)
        fixture.clock.advance(1)
        for index in 0..<10_000 { _ = await fixture.service.lookUp("made-up-\(index)") }
        #expect(await fixture.fetcher.calls == 3)
        // Each time that the clock is set one more is due, and it holds none up until the clock has caught up.
        await fixture.clock.take(steps) {
            for _ in 0..<100 { _ = await fixture.lookUp("made-up") }
        }
        for _ in 0..<100 { _ = await fixture.lookUp("made-up") }
        #expect(await fixture.fetcher.calls == 3 + steps.errors.count)
        fixture.clock.advance(60)
        for _ in 0..<100 { _ = await fixture.lookUp("made-up") }
        #expect(await fixture.fetcher.calls == 4 + steps.errors.count)
        // A known key needs no fetch, ever.
        for _ in 0..<100 { #expect(await fixture.lookUp("key-1") == "refreshed") }
        #expect(await fixture.fetcher.calls == 4 + steps.errors.count)
    }

    @Test("A rotated key is found by the first token that names it")
    func rotation() async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), try KeySetFixture.answer("key-2"))
        await fixture.runOnce()
        #expect(await fixture.lookUp("key-2") == "refreshed")
        #expect(fixture.published.all == [["key-1"], ["key-2"]])
        #expect(Set(fixture.published.generations).count == 2)
    }

    @Test("A key that is rotated right after the first token was waited for is found by the first token that names it")
    func rotationAfterFirstToken() async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), try KeySetFixture.answer("key-2"))
        #expect(await fixture.lookUp("key-1") == "refreshed")
        #expect(await fixture.lookUp("key-2") == "refreshed")
        for _ in 0..<100 { #expect(await fixture.lookUp("made-up") == "unchanged") }
        #expect(await fixture.fetcher.calls == 2)
    }

    @Test("An interval that made-up keys have used up is not over because there was no set meanwhile")
    func madeUpKeysAroundAnOutage() async throws {
        let good = try KeySetFixture.answer("key-1")
        let policy = KeySetService.Policy(minimumAge: 1, maximumAge: 1, staleLimit: 0)
        let fixture = KeySetFixture(good, good, .failure(.timedOut), good, policy: policy)
        await fixture.runOnce()
        #expect(await fixture.lookUp("made-up") == "refreshed")
        fixture.clock.advance(2)
        await fixture.runOnce()
        #expect(fixture.service.currentSet == nil)
        #expect(await fixture.lookUp("key-1") == "refreshed")
        #expect(await fixture.lookUp("made-up") == "unchanged")
        #expect(await fixture.fetcher.calls == 4)
    }

    @Test("Made-up keys that have used an interval up hold a new key up until it is over, and no longer")
    func rotationAmongMadeUpKeys() async throws {
        let fixture = KeySetFixture(
            try KeySetFixture.answer("key-1"), try KeySetFixture.answer("key-1"), try KeySetFixture.answer("key-2"))
        await fixture.runOnce()
        #expect(await fixture.lookUp("made-up") == "refreshed")
        fixture.clock.advance(59)
        #expect(await fixture.lookUp("key-2") == "unchanged")
        fixture.clock.advance(1)
        #expect(await fixture.lookUp("key-2") == "refreshed")
        #expect(fixture.published.all == [["key-1"], ["key-1"], ["key-2"]])
        #expect(await fixture.fetcher.calls == 3)
    }

    @Test("A fetch that was under way before a token came is not the answer to its new key: that gets its own, once")
    func rotationDuringAFetch() async throws {
        let fixture = KeySetFixture(
            try KeySetFixture.answer("key-1"), try KeySetFixture.answer("key-2"), isOpen: false)
        async let prepared: Void = fixture.service.prepare()
        await fixture.fetcher.awaitCall()
        let waiting = [await fixture.service.begin("key-2"), await fixture.service.begin("key-2")]
        let known = await fixture.service.begin("key-1")
        await fixture.fetcher.open()
        await prepared
        for task in waiting { #expect("\(await task.value)" == "refreshed") }
        #expect("\(await known.value)" == "refreshed")
        #expect(fixture.published.all == [["key-1"], ["key-2"]])
        #expect(await fixture.fetcher.calls == 2)
    }

    @Test("Made-up keys that come during a fetch cause one more, and none after it")
    func madeUpKeysDuringAFetch() async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), isOpen: false)
        async let prepared: Void = fixture.service.prepare()
        await fixture.fetcher.awaitCall()
        var waiting: [Task<KeyLookup, Never>] = []
        for index in 0..<100 { waiting.append(await fixture.service.begin("made-up-\(index)")) }
        await fixture.fetcher.open()
        await prepared
        for task in waiting { _ = await task.value }
        #expect(await fixture.fetcher.calls == 2)
    }

    @Test("The fetch asks the issuer's own URL, bounded in time and size")
    func request() async throws {
        let policy = KeySetService.Policy(timeout: .seconds(2), maximumBytes: 4096)
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), policy: policy)
        await fixture.runOnce()
        let request = try #require(await fixture.fetcher.requests.first)
        #expect(
            request.url == "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example/.well-known/jwks.json")
        #expect(request.method == "GET")
        #expect(request.deadline == .seconds(2))
        #expect(request.maximumResponseBytes == 4096)
    }

    // MARK: Failures

    @Test("Whatever is no key set leaves the one that is held, and is counted")
    func failures() async throws {
        let bodies: [(Int, [UInt8])] = [
            (200, []), (200, Array("{}".utf8)), (200, Array(#"{"keys":[]}"#.utf8)), (200, Array("<html>".utf8)),
            (200, Array(#"{"keys":[{"kty":"oct","kid":"x","k":"AA"}]}"#.utf8)),
            (200, try KeySetFixture.document("key-2").dropLast()), (200, try KeySetFixture.document("key-2", "key-2")),
            (200, Array(repeating: 0x20, count: KeySet.maximumBytes + 1)),
            (404, try KeySetFixture.document("key-2")), (302, []), (500, []),
        ]
        let answers = bodies.map { Result<FetchResponse, FetchError>.success(FetchResponse(status: $0.0, body: $0.1)) }
        let errors: [FetchError] = [
            .timedOut, .cannotConnect("refused"), .responseTooLarge, .forbiddenScheme, .failed("x"),
        ]
        for answer in answers + errors.map({ .failure($0) }) {
            let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), answer)
            await fixture.runOnce()
            #expect(await fixture.lookUp("key-2") == "unchanged")
            #expect(await fixture.lookUp("key-1") == "refreshed")
            #expect(await fixture.fetcher.calls == 2)
            #expect(fixture.published.all == [["key-1"]])
            #expect(fixture.service.currentStatus.refreshes == 1)
            #expect(fixture.service.currentStatus.failures == 1)
            #expect(fixture.service.currentStatus.fetchedAt == ManualClock.start)
            #expect(fixture.service.currentStatus.error?.isEmpty == false)
            #expect(fixture.service.currentStatus.failingSince == ManualClock.start)
        }
    }

    @Test("Why fetches fail and since when is told until one succeeds, also by a service in another's place")
    func failing() async throws {
        var counted = KeySetService.Status(refreshes: 3, failures: 2)
        (counted.error, counted.failingSince) = ("status 500", 5)
        let failure = Result<FetchResponse, FetchError>.failure(.cannotConnect("refused"))
        let fixture = KeySetFixture(failure, try KeySetFixture.answer("key-1"), counted: counted)
        #expect(fixture.service.currentStatus.error == "status 500")
        await fixture.service.prepare()
        #expect(fixture.service.currentStatus.error?.contains("refused") == true)
        #expect(fixture.service.currentStatus.failingSince == 5)
        await fixture.service.prepare()
        #expect(fixture.service.currentStatus.error == nil && fixture.service.currentStatus.failingSince == nil)
    }

    @Test("It is told when the set is to be fetched again and when it ends, also under another policy")
    func ends() async throws {
        let policy = KeySetService.Policy(minimumAge: 300, maximumAge: 3600, staleLimit: 86_400)
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), policy: policy)
        #expect(fixture.service.currentStatus.freshUntil == nil && fixture.service.currentStatus.servesUntil == nil)
        await fixture.runOnce()
        let due = ManualClock.start + 3600
        #expect(fixture.service.currentStatus.freshUntil == due)
        #expect(fixture.service.currentStatus.servesUntil == due + 86_400)
        fixture.service.adopt(KeySetService.Policy(minimumAge: 300, maximumAge: 600, staleLimit: 60))
        #expect(fixture.service.currentStatus.freshUntil == ManualClock.start + 600)
        #expect(fixture.service.currentStatus.servesUntil == ManualClock.start + 660)
        // When it is trusted no more there is nothing to tell.
        await fixture.fetcher.answer(.failure(.timedOut))
        fixture.clock.advance(661)
        await fixture.runOnce()
        #expect(fixture.service.currentSet == nil)
        #expect(fixture.service.currentStatus.freshUntil == nil && fixture.service.currentStatus.servesUntil == nil)
    }

    @Test(
        "The last good set serves for a bounded time, then nothing is trusted until there is a new one",
        arguments: ClockSteps.allCases)
    func staleLimit(steps: ClockSteps) async throws {
        let policy = KeySetService.Policy(minimumAge: 300, maximumAge: 3600, staleLimit: 86_400)
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), .failure(.timedOut), policy: policy)
        await fixture.runOnce()
        fixture.clock.advance(3600 + 86_400)
        await fixture.clock.take(steps) { await fixture.runOnce() }
        await fixture.runOnce()
        if steps == .aheadAndBack {
            // Nobody knows that it is not so old: a key may have been withdrawn since.
            #expect(fixture.published.all == [["key-1"], nil])
            return
        }
        #expect(fixture.published.all == [["key-1"]])
        #expect(await fixture.lookUp("key-1") == "refreshed")
        fixture.clock.advance(1)
        await fixture.runOnce()
        #expect(fixture.published.all == [["key-1"], nil])
        #expect(await fixture.lookUp("key-1") == "unavailable")
        fixture.clock.advance(5)
        await fixture.fetcher.answer(try KeySetFixture.answer("key-1"))
        await fixture.runOnce()
        #expect(fixture.published.all == [["key-1"], nil, ["key-1"]])
    }

    @Test("31: What is left out of a set is warned of once, and again when it is something else")
    func warnedOnce() async throws {
        let set = { (left: String) -> Result<FetchResponse, FetchError> in
            let document = try KeySetFixture.document("key-1")
            let bad = Array(#"{"keys":[{"kid":"x","kty":"oct"},{"kid":"y","kty":"\#(left)"},"#.utf8)
            return .success(FetchResponse(status: 200, body: bad + document.dropFirst(#"{"keys":["#.utf8.count)))
        }
        let log = WarningLog()
        let fixture = KeySetFixture(try set("EC"), try set("EC"), try set("OKP"), log: log)
        for _ in 0..<3 {
            await fixture.runOnce()
            fixture.clock.advance(3600)
        }
        #expect(await fixture.fetcher.calls == 3)
        #expect(fixture.published.all == [["key-1"], ["key-1"], ["key-1"]])
        let warning = "keys left out of the key set: keys[0]: kty is oct, a secret; keys[1]: crv is not "
        #expect(log.warnings == [warning + "P-256, P-384 or P-521", warning + "Ed25519"])
    }

    @Test("A fetch that a stop has ended is neither counted nor warned of")
    func cancelled() async throws {
        let log = WarningLog()
        let fixture = KeySetFixture(.failure(.cancelled), log: log)
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 1)
        #expect(fixture.service.currentStatus.failures == 0)
        #expect(log.warnings == [])
    }

    @Test("A failed fetch is told in words, and the next that succeeds once")
    func recovery() async throws {
        var log = WarningLog()
        log.logLevel = .notice
        let answer = try KeySetFixture.answer("key-1")
        let fixture = KeySetFixture(
            answer, .failure(.cannotConnect("Couldn't connect to server")), .failure(.timedOut), answer, answer,
            log: log)
        for _ in 0..<5 {
            await fixture.runOnce()
            fixture.clock.advance(3600)
        }
        #expect(await fixture.fetcher.calls == 5)
        #expect(
            log.warnings == [
                "key set not fetched: Couldn't connect to server", "key set not fetched: it took too long",
                "key set fetched again",
            ])
    }

    // MARK: Freshness

    @Test(
        "A set is fresh for as long as its response says, within bounds",
        arguments: [
            (nil, 3600), ("max-age=600", 600), ("public, max-age=600", 600), ("max-age=1", 300), ("max-age=0", 300),
            ("no-store", 300), ("no-cache, max-age=600", 300), ("max-age=999999", 3600), ("max-age=never", 3600),
            ("max-age=-1", 300), ("private", 3600), ("max-age=9223372036854775807", 3600),
        ] as [(String?, Int64)], ClockSteps.passing)
    func freshness(response: (cacheControl: String?, seconds: Int64), steps: ClockSteps) async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1", cacheControl: response.cacheControl))
        await fixture.runOnce()
        fixture.clock.advance(response.seconds - 1)
        await fixture.clock.take(steps) {}
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 1)
        fixture.clock.advance(1)
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 2)
    }

    @Test(
        "A step of the clock makes no set younger, neither for its refresh nor for its end",
        arguments: ClockSteps.allCases)
    func steps(steps: ClockSteps) async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"))
        await fixture.runOnce()
        await fixture.clock.take(steps) {
            let calls = await fixture.fetcher.calls
            await fixture.runOnce()
            #expect(await fixture.fetcher.calls == calls + 1, "nobody knows how old it is")
        }
        await fixture.runOnce()
        let calls = await fixture.fetcher.calls
        // From here on the clock goes back as fast as time passes.
        let error = steps.errors.last ?? 0
        fixture.clock.advance(3600)
        fixture.clock.set(error: error - 3660)
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == calls + 1)
        #expect(fixture.service.age == 0)
        await fixture.fetcher.answer(.failure(.timedOut))
        fixture.clock.advance(3600 + 86_400)
        fixture.clock.set(error: error - 3660 - 3600 - 86_460)
        await fixture.runOnce()
        #expect(fixture.service.currentSet != nil && fixture.service.age == 3600 + 86_400)
        fixture.clock.advance(1)
        await fixture.runOnce()
        #expect(fixture.service.currentSet == nil)
    }

    @Test(
        "max-age is read from Cache-Control, and nothing else is taken for it",
        arguments: [
            (nil, nil), ("", nil), ("max-age=60", 60), ("Max-Age=60", 60), ("public,max-age=60", 60),
            ("  max-age = 60 , public", 60), ("max-age=\"60\"", 60), ("no-store", 0), ("max-age=60, no-store", 0),
            ("no-cache", 0), ("no-cache=\"x\"", 0), ("s-maxage=60", nil), ("max-age", nil), ("max-age=", nil),
            ("max-age=6e1", nil), ("x-max-age=60", nil), ("max-age=99999999999999999999", nil), (",,,", nil),
            ("max-age=60, \u{e9}", nil),
        ] as [(String?, Int64?)])
    func cacheControl(value: String?, seconds: Int64?) {
        #expect(CacheControl.maximumAge(value) == seconds)
    }

    @Test("One issuer's trouble does not touch another's keys")
    func independence() async throws {
        let clock = ManualClock()
        let broken = KeySetFixture(.failure(.timedOut), isOpen: false, clock: clock, name: "broken")
        let sound = KeySetFixture(try KeySetFixture.answer("key-1"), clock: clock, name: "sound")
        async let waiting = broken.lookUp("key-1")
        await broken.fetcher.awaitCall()
        // The broken one has not even answered.
        #expect(await sound.lookUp("key-1") == "refreshed")
        await broken.fetcher.open()
        #expect(await waiting == "unavailable")
        #expect(broken.published.all == [])
        #expect(sound.published.all == [["key-1"]])
        #expect(sound.service.currentStatus.failures == 0)
    }

    // MARK: Reloads

    @Test("Prepared, a service has its set before anyone asks, from the file where there is one")
    func prepared() async throws {
        try await withDirectory { path in
            let first = KeySetFixture(try KeySetFixture.answer("key-1"), directory: path)
            #expect(first.service.currentSet == nil)
            await first.service.prepare()
            #expect(first.service.currentSet?.keyIDs == ["key-1"])
            await first.service.prepare()
            #expect(await first.fetcher.calls == 1)
            let early = KeySetFixture(.failure(.timedOut), clock: first.clock, directory: path)
            await early.service.prepare()
            #expect(early.service.currentSet == nil, "nothing is kept of a service that may never serve")
            await first.runOnce()
            let second = KeySetFixture(.failure(.timedOut), clock: first.clock, directory: path)
            await second.service.prepare()
            #expect(second.service.currentSet?.keyIDs == ["key-1"])
            #expect(await second.fetcher.calls == 0)
            let third = KeySetFixture(.failure(.timedOut))
            await third.service.prepare()
            #expect(third.service.currentSet == nil)
            #expect(await third.fetcher.calls == 1)
        }
    }

    @Test("Another policy holds for the set at hand, which is not fetched because of it")
    func adopted() async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"))
        await fixture.runOnce()
        fixture.service.adopt(KeySetService.Policy(maximumAge: 1000))
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 1)
        fixture.clock.advance(999)
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 1)
        fixture.clock.advance(1)
        await fixture.runOnce()
        #expect(await fixture.fetcher.calls == 2)
    }

    @Test("Another policy holds at once for a service that waits until its set may be due")
    func adoptedWhileResting() async throws {
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"))
        await fixture.service.prepare()
        let running = Task { await fixture.service.run() }
        while !fixture.service.isResting, !Task.isCancelled { await Task.yield() }
        fixture.clock.advance(100)
        // Of two in a row the later one holds, by which the set is due.
        fixture.service.adopt(KeySetService.Policy(minimumAge: 60, maximumAge: 1000))
        fixture.service.adopt(KeySetService.Policy(minimumAge: 60, maximumAge: 100, staleLimit: 50))
        #expect(fixture.service.currentStatus.servesUntil == ManualClock.start + 150)
        while fixture.service.currentStatus.refreshes < 2, !Task.isCancelled { await Task.yield() }
        while !fixture.service.isResting, !Task.isCancelled { await Task.yield() }
        #expect(fixture.service.currentStatus.servesUntil == ManualClock.start + 250)
        running.cancel()
        await running.value
        #expect(await fixture.fetcher.calls == 2)
    }

    @Test("A service in another's place goes on with its counts, not with its set")
    func counted() async throws {
        var counted = KeySetService.Status(refreshes: 3, failures: 2)
        counted.fetchedAt = 5
        let fixture = KeySetFixture(try KeySetFixture.answer("key-1"), counted: counted)
        #expect(fixture.service.currentStatus.refreshes == 3)
        #expect(fixture.service.currentStatus.fetchedAt == nil)
        await fixture.service.prepare()
        #expect(fixture.service.currentStatus.refreshes == 4)
        #expect(fixture.service.currentStatus.failures == 2)
    }

    // MARK: The file

    /// Reads the file and does nothing else.
    static func restore(_ fixture: KeySetFixture) async { await fixture.runOnce() }

    @Test(
        "The last good set is there again after a restart, before anything was fetched",
        arguments: ClockSteps.allCases)
    func restart(steps: ClockSteps) async throws {
        try await withDirectory { path in
            let first = KeySetFixture(try KeySetFixture.answer("key-1"), directory: path)
            await first.runOnce()
            // By a clock that is wrong, nobody knows how old it is.
            await first.clock.take(steps) {
                let between = KeySetFixture(.failure(.timedOut), clock: first.clock, directory: path)
                await Self.restore(between)
                #expect(between.published.all == [])
            }
            first.clock.set(error: 0)
            let second = KeySetFixture(.failure(.timedOut), clock: first.clock, directory: path)
            await Self.restore(second)
            #expect(second.published.all == [["key-1"]])
            #expect(await second.fetcher.calls == 0)
            #expect(second.service.currentStatus.fetchedAt == ManualClock.start)
            #expect(await second.lookUp("key-1") == "refreshed")
            // Another issuer has another file.
            let other = KeySetFixture(.failure(.timedOut), name: "other", directory: path)
            await other.runOnce()
            #expect(other.published.all == [])
        }
    }

    @Test("A kept set that is too old, or is none, is not used")
    func unusableFiles() async throws {
        try await withDirectory { path in
            let file = KeySetFile(directory: path, issuer: KeySetFixture.issuer("pool"))
            let limit: Int64 = 3600 + 86_400
            try file.write(try KeySetFixture.document("key-1"), fetchedAt: ManualClock.start - limit)
            let young = KeySetFixture(.failure(.timedOut), directory: path)
            await Self.restore(young)
            #expect(young.published.all == [["key-1"]])
            try file.write(try KeySetFixture.document("key-1"), fetchedAt: ManualClock.start - limit - 1)
            let old = KeySetFixture(.failure(.timedOut), directory: path)
            await Self.restore(old)
            #expect(old.published.all == [])
            try file.write(try KeySetFixture.document("key-1"), fetchedAt: ManualClock.start + 1)
            let future = KeySetFixture(.failure(.timedOut), directory: path)
            await Self.restore(future)
            #expect(future.published.all == [])
            for document in ["", "{}", "{\"keys\":[]}", "\u{0}"] {
                try file.write(Array(document.utf8), fetchedAt: ManualClock.start)
                let fixture = KeySetFixture(.failure(.timedOut), directory: path)
                await Self.restore(fixture)
                #expect(fixture.published.all == [], "\(document.debugDescription)")
            }
        }
    }

    @Test("A kept set serves at once and is fetched again at once, and who only reads keeps none")
    func keptSets() async throws {
        try await withDirectory { path in
            let issuer = KeySetFixture.issuer("pool")
            let reader = KeySetFile(directory: path, issuer: issuer, isReadOnly: true)
            try reader.write(try KeySetFixture.document("key-1"), fetchedAt: ManualClock.start)
            #expect(try reader.read() == nil)
            let file = KeySetFile(directory: path, issuer: issuer)
            try file.write(try KeySetFixture.document("key-1"), fetchedAt: ManualClock.start)
            #expect(try reader.read()?.fetchedAt == ManualClock.start)
            let fixture = KeySetFixture(try KeySetFixture.answer("key-2"), directory: path)
            await Self.restore(fixture)
            #expect(fixture.published.all == [["key-1"]])
            await fixture.runOnce()
            #expect(fixture.published.all == [["key-1"], ["key-2"]])
        }
    }

    @Test("A kept set serves as long as if nothing had been restarted, while it cannot be fetched")
    func keptSetsEnd() async throws {
        try await withDirectory { path in
            let file = KeySetFile(directory: path, issuer: KeySetFixture.issuer("pool"))
            let fetchedAt = ManualClock.start - (3600 + 86_400 - 10)
            try file.write(try KeySetFixture.document("key-1"), fetchedAt: fetchedAt)
            let fixture = KeySetFixture(.failure(.timedOut), directory: path)
            await Self.restore(fixture)
            await fixture.runOnce()
            #expect(await fixture.fetcher.calls == 1)
            #expect(fixture.published.all == [["key-1"]])
            #expect(fixture.service.currentStatus.freshUntil == fetchedAt)
            #expect(fixture.service.currentStatus.servesUntil == ManualClock.start + 10)
            fixture.clock.advance(10)
            await fixture.runOnce()
            #expect(fixture.published.all == [["key-1"]])
            fixture.clock.advance(1)
            await fixture.runOnce()
            #expect(fixture.published.all == [["key-1"], nil])
        }
    }

    @Test("Keys kept for one issuer are never taken for another's, nor those of a pool that was replaced")
    func othersKeys() async throws {
        try await withDirectory { path in
            let first = KeySetFixture(try KeySetFixture.answer("key-1"), name: "a-b", directory: path)
            await first.runOnce()
            let second = KeySetFixture(.failure(.timedOut), name: "a_b", directory: path)
            await second.runOnce()
            #expect(second.published.all == [])
            let replaced = KeySetFile(
                directory: path, issuer: KeySetFixture.issuer("a-b", userPoolID: "eu-west-1_Another"))
            #expect(try replaced.read() == nil)
            #expect(try KeySetFile(directory: path, issuer: KeySetFixture.issuer("a-b")).read() != nil)
        }
    }

    @Test("An issuer's name can't lead out of the state directory")
    func fileNames() async throws {
        try await withDirectory { path in
            for name in ["../../etc/x", "/etc/x", "a b", "é", ".."] {
                try KeySetFile(directory: path, issuer: KeySetFixture.issuer(name)).write([1], fetchedAt: 1)
            }
            let names = Set(try FileManager.default.contentsOfDirectory(atPath: path))
            #expect(
                names == [
                    "key-set-______etc_x.json", "key-set-_.json", "key-set-__.json", "key-set-_etc_x.json",
                    "key-set-a_b.json",
                ])
        }
    }
}

extension KeySetService {
    /// A look-up that waits for whatever it has to wait for when this returns.
    fileprivate func begin(_ keyID: String) -> Task<KeyLookup, Never> { Task.immediate { await self.lookUp(keyID) } }
}
