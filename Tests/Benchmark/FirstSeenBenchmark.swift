internal import Cryptography
internal import Pipeline

/// The cost of tokens of one algorithm that were never seen before, beside the bare verification of their signatures.
struct FirstSeenBenchmark {
    let algorithm: String
    let supply: TokenSupply
    let bareCost: Measurement
    let verifyCost: Measurement
    private let verifier: TokenVerifier
    private let acceptance = TokenAcceptance(tokenUses: [.access])

    /// - Parameter bareName: what OpenSSL does there.
    init(count: Int, key: BenchmarkKey, bareName: String) throws {
        algorithm = key.algorithm.rawValue
        supply = try TokenSupply(count: count, key: key)
        verifier = TokenVerifier(issuers: [supply.issuer])
        bareCost = Measurement("bare \(bareName) (OpenSSL)")
        verifyCost = Measurement("first-seen \(algorithm) token, verified")
    }

    var ratio: Double { verifyCost.ratio(to: bareCost) }

    /// - Parameter headers: of an event loop, which knows the header from the second token on.
    func run(_ tokens: ArraySlice<TokenSupply.Token>, headers: TokenHeaders) {
        bareCost.round(of: tokens) { supply.bare.verify($0.signature, of: $0.signedBytes) }
        verifyCost.round(of: tokens) { token in
            let verdict = verifier.verify(
                token.bytes.span, accepting: acceptance, keys: { _ in supply.keySet }, headers: headers,
                now: TokenSupply.now)
            if case .verified = verdict { return true } else { return false }
        }
    }
}
