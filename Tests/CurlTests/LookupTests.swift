import Dispatch
import NIOCore
import Sockets
import Testing

@testable import Curl

@Suite("Upstream: look-ups", .timeLimit(.minutes(10)))
struct LookupTests {
    static let times = LookupTimes(
        fresh: .seconds(1), servedWhileRefreshed: .seconds(5), patience: .milliseconds(500), retry: .seconds(1))
    static let failure = CurlFailure(kind: .resolve, code: 6, description: "no address")

    /// A record's reply at a time, in words.
    static func ask(_ record: inout LookupRecord<String>, at milliseconds: Int64) -> String {
        let now = NIODeadline.uptimeNanoseconds(0) + .milliseconds(milliseconds)
        let (reply, starts) = record.ask(at: now, times)
        let words =
            switch reply {
            case .use(let value, let until): now < until ? "\(value), fresh" : value
            case .fail: "fail"
            case .wait(nil): "wait"
            case .wait(let until?): "wait until \((until - .uptimeNanoseconds(0)).nanoseconds / 1_000_000)"
            }
        return starts ? words + ", look up" : words
    }

    static func end(_ record: inout LookupRecord<String>, _ result: LookupResult<String>, at milliseconds: Int64) {
        record.ended(result, at: .uptimeNanoseconds(0) + .milliseconds(milliseconds))
    }

    @Test("Without a result, everybody waits for one look-up")
    func first() {
        var record = LookupRecord<String>()
        #expect(Self.ask(&record, at: 0) == "wait, look up")
        #expect(Self.ask(&record, at: 10) == "wait")
        #expect(Self.ask(&record, at: 60_000) == "wait")
        Self.end(&record, .found("a"), at: 60_001)
        #expect(Self.ask(&record, at: 60_002) == "a, fresh")
    }

    @Test("A result is used at once while it is young, and refreshed behind it")
    func young() {
        var record = LookupRecord<String>()
        Self.end(&record, .found("a"), at: 0)
        #expect(Self.ask(&record, at: 999) == "a, fresh")
        #expect(Self.ask(&record, at: 1000) == "a, look up")
        #expect(Self.ask(&record, at: 4999) == "a")
        Self.end(&record, .found("b"), at: 4999)
        #expect(Self.ask(&record, at: 5000) == "b, fresh")
    }

    @Test("An old result is used only when the look-up takes long")
    func old() {
        var record = LookupRecord<String>()
        Self.end(&record, .found("a"), at: 0)
        #expect(Self.ask(&record, at: 5000) == "wait until 5500, look up")
        #expect(Self.ask(&record, at: 5499) == "wait until 5500")
        #expect(Self.ask(&record, at: 5500) == "a")
        #expect(Self.ask(&record, at: 3_600_000) == "a")
        Self.end(&record, .found("b"), at: 3_600_001)
        #expect(Self.ask(&record, at: 3_600_002) == "b, fresh")
    }

    @Test("While nobody can say, the last good result is used and attempts go on")
    func away() {
        var record = LookupRecord<String>()
        Self.end(&record, .found("a"), at: 0)
        #expect(Self.ask(&record, at: 2000) == "a, look up")
        Self.end(&record, .failed(Self.failure), at: 2500)
        #expect(Self.ask(&record, at: 3499) == "a")
        #expect(Self.ask(&record, at: 3500) == "a, look up")
        // Known to be away: nobody waits for it again.
        #expect(Self.ask(&record, at: 9000) == "a")
        Self.end(&record, .found("b"), at: 9001)
        #expect(Self.ask(&record, at: 9002) == "b, fresh")
    }

    @Test("What is gone is not used any more")
    func gone() {
        var record = LookupRecord<String>()
        Self.end(&record, .found("a"), at: 0)
        Self.end(&record, .absent(Self.failure), at: 1500)
        #expect(Self.ask(&record, at: 1501) == "fail")
        #expect(Self.ask(&record, at: 2499) == "fail")
        #expect(Self.ask(&record, at: 2500) == "wait, look up")
        Self.end(&record, .failed(Self.failure), at: 2600)
        #expect(Self.ask(&record, at: 2601) == "fail")
    }

    @Test("Many askers of one key cause one look-up, and each is called once")
    func shared() async throws {
        let group = try SocketEventLoopGroup(count: 2)
        let gate = DispatchSemaphore(value: 0)
        let lookups = SharedLookups<String, String>(Self.times, on: LookupThreads(most: 2)) { key in
            gate.wait()
            return .found(key + "!")
        }
        let promises = (0..<2).map { _ in group.next().makePromise(of: Void.self) }
        for (promise, eventLoop) in zip(promises, group.makeIterator()) {
            try await eventLoop.submit {
                let loop = LoopLookups(lookups, eventLoop: eventLoop)
                loop.changed = { [unowned loop] key in
                    guard case .use("a!", _) = loop.ask(key) else { return promise.fail(Unexpected()) }
                    loop.close()
                    promise.succeed()
                }
                for _ in 0..<10 {
                    guard case .wait(nil) = loop.ask("a") else { return promise.fail(Unexpected()) }
                }
            }.get()
        }
        gate.signal()
        for promise in promises { try await promise.futureResult.get() }
        #expect(lookups.tally.found == 1)
        try await group.shutdownGracefully()
    }

    @Test("Nobody is called after the end")
    func forgotten() async throws {
        let group = try SocketEventLoopGroup(count: 1)
        let eventLoop = group.next()
        let (gate, ended) = (DispatchSemaphore(value: 0), eventLoop.makePromise(of: Void.self))
        let lookups = SharedLookups<String, String>(Self.times, on: LookupThreads(most: 2)) { key in
            if key == "a" { gate.wait() }
            return .found(key)
        }
        try await eventLoop.submit {
            let (leaving, staying) = (
                LoopLookups(lookups, eventLoop: eventLoop), LoopLookups(lookups, eventLoop: eventLoop)
            )
            leaving.changed = { _ in ended.fail(Unexpected()) }
            staying.changed = { _ in
                staying.close()
                ended.succeed()
            }
            _ = (leaving.ask("a"), staying.ask("a"))
            leaving.close()
        }.get()
        gate.signal()
        try await ended.futureResult.get()
        try await group.shutdownGracefully()
    }

    @Test("Work beyond the number of threads waits for one of them")
    func threads() async {
        let threads = LookupThreads(most: 2)
        let (gate, done) = (DispatchSemaphore(value: 0), DispatchGroup())
        for _ in 0..<5 {
            done.enter()
            let runs = threads.run {
                gate.wait()
                done.leave()
            }
            #expect(runs)
        }
        for _ in 0..<5 { gate.signal() }
        await withCheckedContinuation { continuation in done.notify(queue: .global()) { continuation.resume() } }
    }

    @Test(
        "Only names are looked up",
        arguments: [
            ("http://api.test", "api.test 80"), ("https://API.test/x", "api.test 443"),
            ("https://api.test:8443?x", "api.test 8443"),
            ("http://127.0.0.1:80", nil), ("http://[::1]:8000/", nil), ("http://localhost:1", nil),
            ("http://x.LocalHost", nil), ("http://notlocalhost", "notlocalhost 80"),
        ] as [(String, String?)])
    func names(url: String, expected: String?) {
        let host = HostToLookUp(CurlAccess(), url: url)
        #expect(host.map { "\($0.name) \($0.port)" } == expected)
    }

    @Test("The address to connect to goes before the URL's, and a socket before both")
    func access() {
        let moved = HostToLookUp(CurlAccess(connectTo: "there.test:81"), url: "https://api.test")
        #expect(moved.map { "\($0.name) \($0.port)" } == "there.test 81")
        #expect(HostToLookUp(CurlAccess(connectTo: "[::1]:81"), url: "https://api.test") == nil)
        #expect(HostToLookUp(CurlAccess(unixSocket: "/run/api"), url: "http://api.test") == nil)
    }

    @Test("libcurl is given all addresses in its own form")
    func line() {
        let host = HostToLookUp(CurlAccess(), url: "https://API.test")
        #expect(host?.line(["192.0.2.1"]) == "api.test:443:192.0.2.1")
        let two = host?.line(["192.0.2.1", "2001:db8::1"])
        #expect(two == "api.test:443:192.0.2.1,[2001:db8::1]" || two == "api.test:443:[2001:db8::1],192.0.2.1")
    }

    struct Unexpected: Error {}
}
