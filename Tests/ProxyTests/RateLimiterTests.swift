import HTTPTypes
import Pipeline
import Testing

@testable import Proxy

@Suite("Rate limiters")
struct RateLimiterTests {
    private static let second: UInt64 = 1_000_000_000

    static func limiter(_ count: Int, per window: Int64, burst: Int, _ key: RouteRateLimit.Key = .address)
        -> RateLimiter
    {
        RateLimiter(RouteRateLimit(rate: RateLimit(count, per: window), burst: burst, key: key))
    }

    static func request(_ fields: HTTPFields = [:]) -> HTTPRequest {
        HTTPRequest(method: .get, scheme: "https", authority: "a.test", path: "/", headerFields: fields)
    }

    @Test("Each caller has a bucket of its own, and waits for the time that is told")
    func callers() {
        let limiter = Self.limiter(1, per: 10, burst: 2)
        let now = 5 * Self.second
        let (one, two) = (0x0001_0001_0001, 0x0002_0002_0002)
        #expect(limiter.take(one, now: now) == nil && limiter.take(one, now: now) == nil)
        #expect(limiter.take(one, now: now) == 10 * Self.second)
        #expect(limiter.take(two, now: now) == nil)
        #expect(limiter.take(one, now: now + 9 * Self.second) == Self.second)
        #expect(limiter.take(one, now: now + 10 * Self.second) == nil)
    }

    @Test("A caller that shares some of its places with others at their limit is not refused for it")
    func shared() {
        let limiter = Self.limiter(1, per: 3600, burst: 1)
        for other in [0x0001_0002_0009, 0x0001_0009_0003, 0x0009_0002_0003] {
            #expect(limiter.take(other, now: 1) == nil)
            #expect(limiter.take(other, now: 1) != nil)
        }
        #expect(limiter.take(0x0001_0002_0004, now: 1) == nil)
        #expect(limiter.take(0x0001_0002_0004, now: 1) != nil)
    }

    @Test("No caller gets more than its limit, however many there are")
    func neverTooMany() {
        let limiter = Self.limiter(1, per: 3600, burst: 3)
        var random = SystemRandomNumberGenerator()
        var taken: [Int: Int] = [:]
        let callers = (0..<30_000).map { _ in Int(truncatingIfNeeded: random.next()) }
        for _ in 0..<5 {
            for caller in callers where limiter.take(caller, now: 1) == nil { taken[caller, default: 0] += 1 }
        }
        #expect(taken.values.allSatisfy { $0 <= 3 })
    }

    @Test("Whatever loops do at once, one caller gets no more than its burst")
    func atOnce() async {
        let limiter = Self.limiter(1, per: 3600, burst: 1000)
        // Two threads meet in the few nanoseconds that matter only now and then.
        for caller in 0..<300 {
            let taken = await withTaskGroup(of: Int.self) { tasks in
                for _ in 0..<4 {
                    tasks.addTask { (0..<500).count { _ in limiter.take(caller &* 0x0001_0001_0001, now: 1) == nil } }
                }
                return await tasks.reduce(0, +)
            }
            #expect(taken == 1000)
        }
    }

    /// Of one limit with one token in the whole test.
    struct Call {
        var client = "192.0.2.1"
        var subject: String?
        var keys: [String] = []

        func isTaken(by limiter: RateLimiter) throws -> Bool {
            let name = try #require(HTTPField.Name("X-Api-Key"))
            var fields = HTTPFields()
            for key in keys { fields.append(HTTPField(name: name, value: key)) }
            return limiter.take(RateLimiterTests.request(fields), client: client, subject: subject, now: 1) == nil
        }
    }

    @Test("Whose requests count together: address by customer, subject, header; else the address")
    func keys() throws {
        let key = try #require(HTTPField.Name("X-Api-Key"))
        func count(_ key: RouteRateLimit.Key, _ calls: Call...) throws -> [Bool] {
            let limiter = Self.limiter(1, per: 1000, burst: 1, key)
            return try calls.map { try $0.isTaken(by: limiter) }
        }
        #expect(
            try count(.address, Call(subject: "a"), Call(client: "::ffff:192.0.2.1", subject: "b"))
                == [true, false])
        #expect(try count(.address, Call(), Call(client: "192.0.2.2")) == [true, true])
        #expect(try count(.address, Call(client: "2001:db8::1"), Call(client: "2001:db8::ffff")) == [true, false])
        #expect(try count(.address, Call(client: "2001:db8::1"), Call(client: "2001:db8:0:1::1")) == [true, true])
        #expect(
            try count(.subject, Call(subject: "a"), Call(client: "192.0.2.2", subject: "a"), Call(subject: "b"))
                == [true, false, true])
        #expect(try count(.subject, Call(), Call(), Call(client: "192.0.2.2")) == [true, false, true])
        #expect(
            try count(
                .header(key), Call(keys: ["a"]), Call(client: "192.0.2.2", subject: "x", keys: ["a"]),
                Call(keys: ["b"])) == [true, false, true])
        // Without the header by address; an address is no header's value.
        #expect(
            try count(.header(key), Call(), Call(subject: "x"), Call(keys: ["192.0.2.1"])) == [true, false, true])
    }

    @Test("A repeated header counts for each of its values, whichever of them the backend takes")
    func repeatedHeader() throws {
        let limiter = Self.limiter(1, per: 1000, burst: 1, .header(try #require(HTTPField.Name("X-Api-Key"))))
        #expect(try Call(keys: ["known", "1"]).isTaken(by: limiter))
        #expect(try !Call(keys: ["known", "2"]).isTaken(by: limiter))
        #expect(try !Call(keys: ["3", "known"]).isTaken(by: limiter))
        #expect(try !Call(keys: ["1"]).isTaken(by: limiter))
        #expect(try Call(keys: ["4"]).isTaken(by: limiter))
    }
}
