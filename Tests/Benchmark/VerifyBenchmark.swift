internal import Cryptography
internal import Glibc
internal import HTTPTypes
internal import Pipeline

/// The cost of a token: one that was never seen before beside OpenSSL's bare verification of its signature, for the
/// algorithms that providers use most, and one that the cache knows. CPU time, medians of interleaved rounds.
@main
struct VerifyBenchmark {
    /// The most a first-seen token may cost, in bare verifications, and a cached one, in microseconds.
    private static let highestRatio = 1.4
    private static let highestHit = 1.5

    private let rsa: FirstSeenBenchmark
    private let others: [FirstSeenBenchmark]
    private let gate: Gate
    private let acceptance = TokenAcceptance(tokenUses: [.access])

    private let missCost = Measurement("first-seen RS256 token, gate's decision")
    private let hitCost = Measurement("cached token, lookup")
    private let decisionCost = Measurement("cached token, gate's decision")

    private var measurements: [Measurement] {
        [rsa.bareCost, rsa.verifyCost, missCost, hitCost, decisionCost]
            + others.flatMap { [$0.bareCost, $0.verifyCost] }
    }
    private var failures: Int { measurements.reduce(0) { $0 + $1.failures } }

    private init(count: Int) throws {
        rsa = try FirstSeenBenchmark(count: count, key: .rs256(), bareName: "RSA-2048 verify")
        others = [
            try FirstSeenBenchmark(count: count, key: .es256(), bareName: "ECDSA P-256 verify"),
            try FirstSeenBenchmark(count: count, key: .edDSA(), bareName: "Ed25519 verify"),
        ]
        gate = Gate(
            routes: try RouteTable([
                Route(
                    name: "api", pattern: try RoutePattern("/api/**"), access: .required,
                    destination: .upstream("api"))
            ]), verifier: TokenVerifier(issuers: [rsa.supply.issuer]))
    }

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let isShort = arguments.contains("--short")
        let size = isShort ? 20 : 200
        let rounds = isShort ? 3 : 25
        let benchmark = try VerifyBenchmark(count: size * rounds)
        // The cache is new each time, so that tokens are too. For profilers, which want more than a moment.
        for _ in 0..<(arguments.contains("--long") ? 20 : 1) { benchmark.run(rounds: rounds, size: size) }
        benchmark.report()
        guard benchmark.failures == 0 else {
            print("\(benchmark.failures) of the verifications failed")
            exit(1)
        }
        if arguments.contains("--check"), !benchmark.isWithinLimits { exit(1) }
    }

    private func run(rounds: Int, size: Int) {
        // Less than the tokens there are, so that each that comes makes another go.
        let cache = TokenCache(maximumEntries: size * rounds / 2)
        let headers = TokenHeaders()
        let keySets: [KeySet?] = [rsa.supply.keySet]
        for round in 0..<rounds {
            let range = (round * size)..<((round + 1) * size)
            let tokens = rsa.supply.tokens[range]
            let requests = tokens.map(Self.request)[...]
            rsa.run(tokens, headers: headers)
            missCost.round(of: requests) { isForwarded($0, cache, keySets) }
            hitCost.round(of: tokens) { token in
                let found = cache.lookup(
                    token.authorization, accepting: acceptance, keys: { keySets[$0] }, now: TokenSupply.now)
                if case .hit = found { return true } else { return false }
            }
            decisionCost.round(of: requests) { isForwarded($0, cache, keySets) }
            for other in others { other.run(other.supply.tokens[range], headers: headers) }
        }
    }

    private static func request(_ token: TokenSupply.Token) -> HTTPRequest {
        HTTPRequest(
            method: .get, scheme: "http", authority: "localhost", path: "/api/items",
            headerFields: [.accept: "*/*", .authorization: token.authorization])
    }

    private func isForwarded(_ request: HTTPRequest, _ cache: TokenCache, _ keySets: [KeySet?]) -> Bool {
        let context = RequestContext(
            peer: "127.0.0.1", scheme: "http", requestID: "benchmark", trace: TraceContext(random: (1, 2, 3)),
            now: TokenSupply.now)
        if case .forward = gate.decide(request, context, cache: cache, keySets: keySets) { return true }
        return false
    }

    private var isWithinLimits: Bool {
        rsa.ratio <= Self.highestRatio && hitCost.median <= Self.highestHit
    }

    private func report() {
        for measurement in measurements {
            print("\(Self.text(measurement.median)) µs  \(measurement.name)")
        }
        print("\(Self.text(rsa.ratio)) ×   first-seen / bare, RS256 (at most \(Self.highestRatio))")
        for other in others { print("\(Self.text(other.ratio)) ×   first-seen / bare, \(other.algorithm)") }
        print("\(Self.text(hitCost.median)) µs  cached token, lookup (at most \(Self.highestHit))")
    }

    /// Two digits behind the point, eight characters.
    private static func text(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let fraction = hundredths % 100
        let text = "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
        return String(repeating: " ", count: max(0, 8 - text.count)) + text
    }
}
