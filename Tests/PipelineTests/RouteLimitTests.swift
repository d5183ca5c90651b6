import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Networks and rates of routes")
struct RouteLimitTests {
    // MARK: Networks

    static func networks(_ allow: [String], _ deny: [String]) throws -> RouteNetworks {
        RouteNetworks(allow: try allow.map { try IPNetwork($0) }, deny: try deny.map { try IPNetwork($0) })
    }

    @Test(
        "A client comes in whom allow names, or anybody without it, unless deny names them",
        arguments: [
            ([], [], "192.0.2.1", true), (["10.0.0.0/8"], [], "10.1.2.3", true),
            (["10.0.0.0/8"], [], "11.1.2.3", false),
            (["10.0.0.0/8"], ["10.9.0.0/16"], "10.9.1.1", false), (["10.0.0.0/8"], ["10.9.0.0/16"], "10.8.1.1", true),
            ([], ["10.0.0.0/8"], "10.1.1.1", false), ([], ["10.0.0.0/8"], "192.0.2.1", true),
            (["2001:db8::/32"], [], "2001:db8::1", true), (["2001:db8::/32"], [], "10.1.1.1", false),
            (["10.0.0.0/8"], [], "::ffff:10.1.1.1", true), ([], ["10.0.0.0/8"], "::ffff:10.1.1.1", false),
            (["10.0.0.0/8"], [], "unknown", false), ([], ["10.0.0.0/8"], "", false),
        ] as [([String], [String], String, Bool)])
    func admission(allow: [String], deny: [String], client: String, isAdmitted: Bool) throws {
        #expect(try Self.networks(allow, deny).admit(client) == isAdmitted)
    }

    @Test("Others are refused before their token is looked at, and in a preflight")
    func gate() throws {
        let crossOrigin = CrossOrigin(origins: .any, methods: [.get], headers: [])
        let route = Route(
            name: "r", pattern: try RoutePattern("/r"), access: .required, destination: GateFixture.backend,
            crossOrigin: crossOrigin, networks: try Self.networks(["192.0.2.0/24"], []))
        let gate = Gate(routes: try RouteTable([route]), verifier: TokenVerifier(issuers: []))
        let preflight: HTTPFields = [.origin: "https://app.example", .accessControlRequestMethod: "GET"]
        for (method, fields) in [(.get, [:]), (.options, preflight)] as [(HTTPRequest.Method, HTTPFields)] {
            for (peer, status) in [("198.51.100.1", 403), ("192.0.2.7", method == .get ? 401 : 204)] {
                let context = RequestContext(
                    peer: peer, scheme: "https", requestID: "id", trace: TraceContext(random: (1, 2, 3)), now: 0)
                let request = HTTPRequest(
                    method: method, scheme: "https", authority: "a.test", path: "/r", headerFields: fields)
                switch gate.decide(request, context, cache: TokenCache(), keySets: []) {
                case .refuse(let refusal, let index):
                    #expect(refusal.error.status.code == status && index == 0)
                    #expect(status != 403 || refusal.reason == .request(.addressNotAllowed))
                case .preflight: #expect(status == 204)
                default: Issue.record("\(method) from \(peer) was let through")
                }
            }
        }
    }

    // MARK: Token buckets

    private static let second: UInt64 = 1_000_000_000

    @Test("A full bucket gives its burst at once, then one token for each interval, and never more than its burst")
    func bucket() {
        let bucket = TokenBucket(rate: RateLimit(60, per: 60), burst: 3)
        var fullAt: UInt64 = 0
        func takes(at now: UInt64) -> Bool {
            guard case .taken(let next) = bucket.take(fullAt: fullAt, now: now) else { return false }
            fullAt = next
            return true
        }
        let start = 1000 * Self.second
        #expect((0..<4).map { _ in takes(at: start) } == [true, true, true, false])
        #expect(bucket.take(fullAt: fullAt, now: start) == .empty(wait: Self.second))
        #expect(!takes(at: start + Self.second - 1))
        #expect(takes(at: start + Self.second))
        #expect(!takes(at: start + Self.second))
        // A long time fills it to its burst.
        #expect((0..<4).map { _ in takes(at: start + 100 * Self.second) } == [true, true, true, false])
    }

    @Test(
        "The rate holds in the long run, whatever it is",
        arguments: [(1, 1, 1), (1000, 1, 10), (7, 60, 7), (1, 86_400, 100_000), (999_999_999, 1, 1)])
    func rate(count: Int, window: Int64, burst: Int) {
        let bucket = TokenBucket(rate: RateLimit(count, per: window), burst: burst)
        let interval = UInt64(window) * Self.second / UInt64(count)
        var (now, fullAt) = (UInt64(1), UInt64(0))
        for number in 0..<min(burst, 1000) + 5 {
            switch bucket.take(fullAt: fullAt, now: now) {
            case .taken(let next): fullAt = next
            case .empty(let wait):
                #expect(number >= burst && wait <= interval)
                now += wait
                guard case .taken(let next) = bucket.take(fullAt: fullAt, now: now) else {
                    Issue.record("it is not there when it was said to be")
                    return
                }
                fullAt = next
            }
        }
    }
}
