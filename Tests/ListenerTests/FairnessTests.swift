import Encoding
import HTTPTypes
import NIOCore
import NIOEmbedded
import Pipeline
import Testing

@testable import Listener

@Suite("Least rate")
struct MinimumRateTests {
    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test("Silence and slowness use the grace up, and bytes earn it back at the rate")
    func arithmetic() {
        var rate = MinimumRate(100, grace: .seconds(5))
        #expect(!rate.isMeasuring && rate.deadline == .distantFuture)
        rate.begin()
        #expect(rate.isMeasuring && rate.deadline == .distantFuture)
        rate.wait(at: Self.start)
        #expect(rate.deadline == Self.start + .seconds(5))
        // 100 bytes after 3 seconds: a second more than is left.
        rate.received(100, at: Self.start + .seconds(3))
        #expect(rate.deadline == .distantFuture)
        rate.wait(at: Self.start + .seconds(3))
        #expect(rate.deadline == Self.start + .seconds(6))
        // A byte each second earns a hundredth of it.
        rate.received(1, at: Self.start + .seconds(4))
        rate.wait(at: Self.start + .seconds(4))
        #expect(rate.deadline == Self.start + .seconds(6) + .milliseconds(10))
        rate.end()
        #expect(!rate.isMeasuring && rate.deadline == .distantFuture)
    }

    @Test("There is never more credit than the grace, however much came at once", arguments: [600, 1 << 30, Int.max])
    func cap(count: Int) {
        var rate = MinimumRate(100, grace: .seconds(5))
        rate.begin()
        rate.wait(at: Self.start)
        rate.received(count, at: Self.start + .seconds(1))
        rate.wait(at: Self.start + .seconds(1))
        #expect(rate.deadline == Self.start + .seconds(6))
    }

    @Test("Bytes that come when the credit is used up pay for the time since, of up to the grace")
    func debt() {
        var rate = MinimumRate(100, grace: .seconds(5))
        rate.begin()
        rate.wait(at: Self.start)
        // A second's worth, two seconds too late, and then two more.
        rate.received(100, at: Self.start + .seconds(7))
        rate.wait(at: Self.start + .seconds(7))
        #expect(rate.deadline == Self.start + .seconds(6))
        rate.received(200, at: Self.start + .seconds(7))
        rate.wait(at: Self.start + .seconds(7))
        #expect(rate.deadline == Self.start + .seconds(8))
        rate.received(600, at: Self.start + .seconds(60))
        rate.wait(at: Self.start + .seconds(60))
        #expect(rate.deadline == Self.start + .seconds(65))
        rate.received(400, at: Self.start + .seconds(600))
        rate.wait(at: Self.start + .seconds(600))
        #expect(rate.deadline == Self.start + .seconds(599))
    }

    @Test("Time in which the gateway does not read costs nothing")
    func pauses() {
        var rate = MinimumRate(100, grace: .seconds(5))
        rate.begin()
        rate.wait(at: Self.start)
        rate.received(0, at: Self.start + .seconds(4))
        // A minute later the backend takes more.
        let later = Self.start + .seconds(64)
        rate.wait(at: later)
        #expect(rate.deadline == later + .seconds(1))
        // A second wait does not begin anew.
        rate.wait(at: later + .milliseconds(500))
        #expect(rate.deadline == later + .seconds(1))
    }

    @Test("A rate of 0 measures nothing, and the highest rate does")
    func bounds() {
        var none = MinimumRate(0, grace: .seconds(5))
        none.begin()
        none.wait(at: Self.start)
        #expect(!none.isMeasuring && none.deadline == .distantFuture)
        var highest = MinimumRate(1_000_000_000, grace: .seconds(5))
        highest.begin()
        highest.wait(at: Self.start)
        #expect(highest.deadline == Self.start + .seconds(5))
    }
}

@Suite("Least rate of a connection's streams together")
struct ConnectionMinimumRateTests {
    static let start = MinimumRateTests.start

    /// `count` streams that are all waited for.
    static func shared(_ count: Int) -> ConnectionMinimumRate {
        var shared = ConnectionMinimumRate(100, grace: .seconds(2))
        for _ in 0..<count {
            shared.join()
            shared.wait(at: start)
        }
        return shared
    }

    /// Of so many streams, and bytes a second in all, whether the rate is kept for a minute.
    static let cases: [(streams: Int, bytes: Int, isMet: Bool)] = [
        (1, 100, true), (1, 90, false), (6, 100, true), (6, 90, false), (8, 100, true), (9, 100, false), (9, 200, true),
        (100, 1200, false), (100, 1300, true),
    ]

    @Test("Eight streams need the rate once, and of each further eight it is asked for once more", arguments: cases)
    func shares(streams: Int, bytes: Int, isMet: Bool) {
        var shared = Self.shared(streams)
        var now = Self.start
        for _ in 0..<60 {
            now = now + .seconds(1)
            guard shared.isMet(at: now) else { break }
            shared.moved(bytes, at: now)
        }
        #expect(shared.isMet(at: now) == isMet)
    }

    @Test("Time in which no stream is waited for costs nothing, and the last one's end ends the measuring")
    func pauses() {
        var shared = Self.shared(2)
        shared.stopWaiting(at: Self.start + .seconds(1))
        #expect(shared.deadline == Self.start + .seconds(2))
        shared.stopWaiting(at: Self.start + .seconds(1))
        #expect(shared.deadline == .distantFuture)
        let later = Self.start + .seconds(60)
        shared.wait(at: later)
        #expect(shared.deadline == later + .seconds(1))
        shared.stopWaiting(at: later)
        shared.leave()
        shared.leave()
        #expect(!shared.isMet(at: later))
    }

    @Test("Bytes that are too old are no excuse, nor are the tenth that come instead of a stream's own")
    func excuses() {
        var shared = Self.shared(2)
        var (excuses, now) = (HTTP2Excuses(), Self.start + .seconds(1))
        let silent = excuses.excuse(shared, since: Self.start, at: now)
        #expect(!silent, "nothing has come")
        shared.moved(1000, at: now)
        let old = excuses.excuse(shared, since: now, at: now + .seconds(1))
        #expect(!old)
        for number in 1...10 {
            let isExcused = excuses.excuse(shared, since: now - .seconds(1), at: now)
            #expect(isExcused == (number < 10))
            now = now + .seconds(1)
            shared.moved(1000, at: now)
        }
        excuses.forget()
        let again = excuses.excuse(shared, since: now - .seconds(1), at: now)
        #expect(again)
    }

    @Test("A rate of 0 excuses nobody")
    func none() {
        var shared = ConnectionMinimumRate(0, grace: .seconds(2))
        shared.join()
        shared.wait(at: Self.start)
        shared.moved(1000, at: Self.start)
        #expect(!shared.isMet(at: Self.start))
    }
}

@Suite("Counts by address")
struct AddressCountsTests {
    static func slots(_ text: String) throws -> AddressCounters { AddressCounters(of: try #require(IPAddress(text))) }

    static let same = [
        ("192.0.2.1", "192.0.2.1"), ("192.0.2.1", "::ffff:192.0.2.1"), ("2001:db8::1", "2001:db8::2"),
        ("2001:db8:0:7::", "2001:db8::7:ffff:ffff:ffff:ffff"),
    ]

    @Test("An IPv4 address counts for itself, and all of an IPv6 /64 together", arguments: same)
    func one(first: String, second: String) throws {
        #expect(try Self.slots(first) == Self.slots(second))
    }

    static let different = [
        ("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8:0:1::1"), ("192.0.2.1", "::192.0.2.1"),
    ]

    @Test("Others count apart", arguments: different)
    func others(first: String, second: String) throws {
        #expect(try Self.slots(first) != Self.slots(second))
        let counts = AddressCounts()
        #expect(counts.begin(try Self.slots(first), limit: 1))
        #expect(counts.begin(try Self.slots(second), limit: 1))
    }

    @Test("There is room for as many as the limit says, and again for each that ends")
    func limit() throws {
        let counts = AddressCounts()
        let slots = try Self.slots("192.0.2.1")
        for _ in 0..<10 { #expect(counts.begin(slots, limit: 10)) }
        for _ in 0..<3 { #expect(!counts.begin(slots, limit: 10)) }
        counts.end(slots)
        #expect(counts.begin(slots, limit: 10))
        #expect(!counts.begin(slots, limit: 10))
        #expect(counts.begin(slots, limit: 11))
    }

    @Test("A thousand addresses at their limit hardly keep anybody else out")
    func collisions() throws {
        let counts = AddressCounts()
        for number in 0..<1000 {
            let slots = AddressCounters(of: IPAddress(ipv4: 0x0A00_0000 + UInt32(number)))
            // Each takes what it gets: few share all their places with others.
            for _ in 0..<100 { _ = counts.begin(slots, limit: 100) }
        }
        let refused = (0..<10_000).count { number in
            !counts.begin(AddressCounters(of: IPAddress(ipv4: 0xC000_0000 + UInt32(number))), limit: 100)
        }
        // On average (1000/8192)³ and what the ten thousand add among themselves: about 18.
        #expect(refused < 100)
    }

    @Test("What several threads count together is exact")
    func threads() async throws {
        let counts = AddressCounts()
        let slots = try Self.slots("192.0.2.1")
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<4 {
                tasks.addTask {
                    for _ in 0..<1000 { if counts.begin(slots, limit: 1_000_000) { counts.end(slots) } }
                }
            }
        }
        #expect(counts.begin(slots, limit: 1))
    }
}

extension HTTP2FrameScanner {
    mutating func take(_ bytes: some Sequence<UInt8>) {
        let bytes = ByteBuffer(bytes: bytes)
        var position = bytes.readerIndex
        while next(in: bytes, from: &position) != nil {}
    }
}

extension HTTP2HeadWatch {
    mutating func take(_ bytes: some Collection<UInt8>, _ scanner: inout HTTP2FrameScanner, at now: NIODeadline) {
        let ends = scanner.ends
        scanner.take(bytes)
        received(bytes.count, isIncomplete: scanner.isIncomplete, hasEnded: scanner.ends != ends, at: now)
    }
}

@Suite("Heads of HTTP/2")
struct HTTP2HeadProgressTests {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    static func frame(_ type: UInt8, _ flags: UInt8, _ length: Int) -> [UInt8] {
        [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags, 0, 0, 0, 1]
            + [UInt8](repeating: 0x41, count: length)
    }

    /// The bytes that came, and whether something must follow.
    static let cases: [([UInt8], Bool)] = [
        ([], false), (Array(preface.prefix(10)), true), (preface, false),
        (preface + frame(4, 0, 0), false), (preface + frame(4, 0, 12), false),
        (preface + frame(4, 0, 12).prefix(4), true), (preface + frame(4, 0, 12).prefix(12), true),
        (preface + frame(1, 5, 20), false), (preface + frame(1, 1, 20), true),
        (preface + frame(1, 1, 20) + frame(9, 0, 20), true), (preface + frame(1, 1, 20) + frame(9, 4, 20), false),
        (preface + frame(0, 0, 100).prefix(50), false), (preface + frame(0, 0, 100) + frame(1, 5, 20).prefix(15), true),
        (preface + frame(0x4F, 0, 70_000).prefix(1000), true), (preface + frame(0x4F, 0, 70_000), false),
    ]

    @Test("What has begun and has not ended is found, however the bytes are cut", arguments: [1, 2, 7, 1000])
    func cuts(size: Int) {
        for (number, (bytes, isIncomplete)) in Self.cases.enumerated() {
            var progress = HTTP2FrameScanner()
            for start in stride(from: 0, to: bytes.count, by: size) {
                progress.take(bytes[start..<min(start + size, bytes.count)])
            }
            #expect(progress.isIncomplete == isIncomplete, "case \(number)")
        }
    }
}

extension HTTP2HeadProgressTests {
    /// The bytes of one read behind the beginning of a head, and whether that head ends in them.
    static let ends: [([UInt8], Bool)] = [
        (frame(1, 1, 20).suffix(5) + frame(9, 4, 20), true), (frame(1, 1, 20).suffix(5) + frame(9, 0, 20), false),
        (frame(1, 1, 20).suffix(5) + frame(9, 4, 20) + frame(1, 5, 20).prefix(3), true), ([0x41], false),
    ]

    @Test("The end of one head is seen although the next one begins in the same read", arguments: ends)
    func oneAfterTheOther(bytes: [UInt8], ends: Bool) {
        var progress = HTTP2FrameScanner()
        progress.take(Self.preface + Self.frame(1, 1, 20).prefix(24))
        #expect(progress.isIncomplete)
        let before = progress.ends
        progress.take(bytes)
        #expect((progress.ends != before) == ends)
    }

    @Test("A client that ends a head and begins the next one in the same read has the whole time for that")
    func restart() {
        var (watch, scanner) = (HTTP2HeadWatch(SlowClientTests.settings), HTTP2FrameScanner())
        let frame = Self.frame(1, 5, 20)
        var now = NIODeadline.uptimeNanoseconds(1)
        watch.take(Self.preface + frame.prefix(12), &scanner, at: now)
        #expect(watch.deadline == now + .seconds(5))
        now = now + .seconds(4)
        watch.take(frame.suffix(17) + frame.prefix(12), &scanner, at: now)
        #expect(watch.deadline == now + .seconds(5))
        now = now + .seconds(4)
        watch.take(frame.suffix(17).prefix(1), &scanner, at: now)
        #expect(watch.deadline < now + .seconds(2), "what goes on has no time of its own")
    }
}

@Suite("Slow clients")
struct SlowClientTests {
    static let settings = ListenerSettings(
        host: "127.0.0.1", port: 0, headTimeout: .seconds(60), bodyIdleTimeout: .seconds(60),
        keepAliveTimeout: .seconds(75), minimumRate: 100, minimumRateGrace: .seconds(5))

    static func post(_ length: Int) -> String { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" }

    @Test("A body that trickles is refused when the grace is used up")
    func body() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send(Self.post(1000))
        for _ in 0..<4 {
            try wire.send("x")
            wire.advance(.seconds(1))
        }
        let exchange = try #require(wire.service.exchanges.first)
        #expect(exchange.faults.isEmpty)
        try wire.send("x")
        wire.advance(.seconds(2))
        #expect(exchange.faults == [.requestTooSlow])
    }

    @Test("A head that trickles is refused when the grace is used up")
    func head() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send("GET / HTTP/1.1\r\n")
        for _ in 0..<3 {
            try wire.send("a")
            wire.advance(.seconds(1))
        }
        #expect(wire.service.refused.isEmpty)
        wire.advance(.seconds(3))
        #expect(wire.service.refused == [.requestTooSlow])
        #expect(try wire.take().hasSuffix("request-too-slow"))
    }

    @Test("A body at the rate is taken, however long it lasts")
    func steady() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send(Self.post(10_000))
        for _ in 0..<50 {
            wire.advance(.seconds(2))
            try wire.send(String(repeating: "x", count: 200))
        }
        let exchange = try #require(wire.service.exchanges.first)
        #expect(exchange.faults.isEmpty && exchange.ends == 1)
    }

    @Test("A client that the service holds back loses nothing")
    func heldBack() throws {
        let wire = try Wire(ScriptedService { $0.wantsMore = false }, settings: Self.settings)
        try wire.send(Self.post(1000))
        try wire.send("x")
        let exchange = try #require(wire.service.exchanges.first)
        for _ in 0..<10 { wire.advance(.seconds(5)) }
        #expect(exchange.faults.isEmpty)
        exchange.wantsMore = true
        exchange.demand.resume()
        wire.advance(.seconds(4))
        #expect(exchange.faults.isEmpty)
        wire.advance(.seconds(2))
        #expect(exchange.faults == [.requestTooSlow])
    }

    @Test("Nothing is measured between requests, while an answer is waited for, and beside a response")
    func patience() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send("GET /poll HTTP/1.1\r\nHost: a\r\n\r\n")
        wire.advance(.seconds(50))
        let poll = try #require(wire.service.exchanges.first)
        poll.answer(.ok, "ok")
        _ = try wire.take()
        wire.advance(.seconds(50))
        try wire.send(Self.post(10))
        let talk = try #require(wire.service.exchanges.last)
        talk.start()
        wire.advance(.seconds(50))
        #expect(poll.faults.isEmpty && talk.faults.isEmpty && !wire.isClosed)
    }

    @Test("A connection is idle between requests, since its last response")
    func idleness() throws {
        let wire = try Wire(settings: Self.settings)
        let opened = wire.loop.now
        let codec = try wire.channel.pipeline.syncOperations.handler(type: HTTP1ServerCodec.self)
        #expect(codec.idleSince == opened)
        wire.advance(.seconds(3))
        #expect(codec.idleSince == opened)
        try wire.send("GET / HT")
        #expect(codec.idleSince == nil)
        try wire.send("TP/1.1\r\nHost: a\r\n\r\n")
        #expect(codec.idleSince == nil)
        wire.advance(.seconds(1))
        try #require(wire.service.exchanges.first).answer(.ok, "ok")
        _ = try wire.take()
        let answered = wire.loop.now
        #expect(codec.idleSince == answered)
        // The common data of its requests is dropped on the way.
        for _ in 0..<5 { wire.advance(.seconds(2)) }
        #expect(codec.idleSince == answered)
        #expect(wire.connections.evictIdlest())
        wire.loop.run()
        #expect(wire.isClosed)
        #expect(!wire.connections.evictIdlest())
    }

    @Test("While a client does not say goodbye its connection takes no request and is not closed once more")
    func goodbye() throws {
        let wire = try Wire(settings: Self.settings)
        let client = LateGoodbye()
        try wire.channel.pipeline.syncOperations.addHandler(client, position: .first)
        defer { client.say() }
        wire.advance(.seconds(3))
        #expect(wire.connections.evictIdlest())
        wire.loop.run()
        let codec = try wire.channel.pipeline.syncOperations.handler(type: HTTP1ServerCodec.self)
        #expect(codec.idleSince == nil)
        #expect(!wire.connections.evictIdlest())
        try wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        #expect(wire.service.exchanges.isEmpty)
    }

    @Test("Nor does one whose time between requests is over")
    func goodbyeAfterKeepAlive() throws {
        let wire = try Wire(settings: Self.settings)
        let client = LateGoodbye()
        try wire.channel.pipeline.syncOperations.addHandler(client, position: .first)
        defer { client.say() }
        wire.advance(Self.settings.keepAliveTimeout + .seconds(1))
        try wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        #expect(wire.service.exchanges.isEmpty)
    }

    @Test("What has just become idle is not closed in favour of others")
    func young() throws {
        let wire = try Wire(settings: Self.settings)
        wire.advance(.milliseconds(900))
        #expect(!wire.connections.evictIdlest())
        // A search that found nothing is not repeated at once.
        wire.advance(.milliseconds(200))
        #expect(!wire.connections.evictIdlest())
        wire.advance(.milliseconds(200))
        #expect(wire.connections.evictIdlest())
    }
}

/// As TLS does it: a connection is not closed before the client has said goodbye.
private final class LateGoodbye: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private var hasSaid = false
    private var close: (() -> Void)?

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard !hasSaid else { return context.close(mode: mode, promise: promise) }
        close = { context.close(mode: mode, promise: promise) }
    }

    func say() {
        hasSaid = true
        close?()
    }
}
