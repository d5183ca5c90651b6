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

    @Test("Whose requests count together: address by customer, subject, header; else the address")
    func keys() throws {
        let key = try #require(HTTPField.Name("X-Api-Key"))
        let (address, subject) = (Self.limiter(1, per: 1, burst: 1), Self.limiter(1, per: 1, burst: 1, .subject))
        let header = Self.limiter(1, per: 1, burst: 1, .header(key))
        func caller(
            _ limiter: RateLimiter, _ client: String, _ sub: String? = nil, _ fields: HTTPFields = [:]
        ) -> Int {
            limiter.caller(Self.request(fields), client: client, subject: sub)
        }
        #expect(caller(address, "192.0.2.1", "a") == caller(address, "::ffff:192.0.2.1", "b"))
        #expect(caller(address, "192.0.2.1") != caller(address, "192.0.2.2"))
        #expect(caller(address, "2001:db8::1") == caller(address, "2001:db8::ffff"))
        #expect(caller(address, "2001:db8::1") != caller(address, "2001:db8:0:1::1"))
        #expect(caller(subject, "192.0.2.1", "a") == caller(subject, "192.0.2.2", "a"))
        #expect(caller(subject, "192.0.2.1", "a") != caller(subject, "192.0.2.1", "b"))
        #expect(caller(subject, "192.0.2.1") == caller(address, "192.0.2.1"))
        #expect(caller(header, "192.0.2.1", nil, [key: "a"]) == caller(header, "192.0.2.2", "x", [key: "a"]))
        #expect(caller(header, "192.0.2.1", nil, [key: "a"]) != caller(header, "192.0.2.1", nil, [key: "b"]))
        #expect(caller(header, "192.0.2.1") == caller(address, "192.0.2.1"))
        // A subject is no header's value, and neither is an address.
        #expect(caller(subject, "192.0.2.1", "a") != caller(header, "192.0.2.1", nil, [key: "a"]))
    }
}
