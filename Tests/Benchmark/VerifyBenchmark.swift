internal import Cryptography
internal import Glibc
internal import HTTPTypes
internal import Pipeline

/// What a token costs: one that was never seen before beside OpenSSL's bare verification of its signature, and one that
/// the cache knows. CPU time, medians of interleaved rounds.
@main
struct VerifyBenchmark {
    /// The most a first-seen token may cost, in bare verifications, and a cached one, in microseconds.
    private static let highestRatio = 1.4
    private static let highestHit = 1.5

    private let supply: TokenSupply
    private let bare: BareVerification
    private let verifier = TokenVerifier(issuers: [TokenSupply.issuer])
    private let gate: Gate
    private let acceptance = TokenAcceptance(tokenUses: [.access])

    private let bareCost = Measurement("bare RSA-2048 verify (OpenSSL)")
    private let verifyCost = Measurement("first-seen RS256 token, verified")
    private let missCost = Measurement("first-seen RS256 token, gate's decision")
    private let hitCost = Measurement("cached token, lookup")
    private let decisionCost = Measurement("cached token, gate's decision")

    private var measurements: [Measurement] { [bareCost, verifyCost, missCost, hitCost, decisionCost] }
    private var failures: Int { measurements.reduce(0) { $0 + $1.failures } }

    private init(count: Int) throws {
        supply = try TokenSupply(count: count)
        guard let bare = BareVerification(modulus: supply.modulus, exponent: supply.exponent) else {
            throw CryptographyError.failed("bare verification")
        }
        self.bare = bare
        gate = Gate(
            routes: try RouteTable([
                Route(
                    name: "api", pattern: try RoutePattern("/api/**"), access: .required,
                    destination: .upstream("api"))
            ]), verifier: verifier)
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
        let keySets: [KeySet?] = [supply.keySet]
        for round in 0..<rounds {
            let tokens = supply.tokens[(round * size)..<((round + 1) * size)]
            let requests = tokens.map(Self.request)[...]
            bareCost.round(of: tokens) { bare.verify($0.signature, of: $0.signedBytes) }
            verifyCost.round(of: tokens) { token in
                let verdict = verifier.verify(
                    token.bytes.span, accepting: acceptance, keys: { keySets[$0] }, headers: headers,
                    now: TokenSupply.now)
                if case .verified = verdict { return true } else { return false }
            }
            missCost.round(of: requests) { isForwarded($0, cache, keySets) }
            hitCost.round(of: tokens) { token in
                let found = cache.lookup(
                    token.authorization, accepting: acceptance, keys: { keySets[$0] }, now: TokenSupply.now)
                if case .hit = found { return true } else { return false }
            }
            decisionCost.round(of: requests) { isForwarded($0, cache, keySets) }
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
        verifyCost.ratio(to: bareCost) <= Self.highestRatio && hitCost.median <= Self.highestHit
    }

    private func report() {
        for measurement in measurements {
            print("\(Self.text(measurement.median)) µs  \(measurement.name)")
        }
        print("\(Self.text(verifyCost.ratio(to: bareCost))) ×   first-seen / bare (at most \(Self.highestRatio))")
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
