// Compiled by run.sh into one module with Sources/Pipeline/Verify, what it needs, and the tokens of the tests.

import Cryptography

@testable import Encoding

private let now: Int64 = 1_780_000_000
private let issuerName = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example"
private let clientID = "1example23456789"
private let acceptance = TokenAcceptance(tokenUses: [.access, .id])

private func verifier(_ algorithms: [SignatureAlgorithm]) -> TokenVerifier {
    var pool = Issuer.cognito(
        name: "pool", region: "eu-west-1", userPoolID: "eu-west-1_Example", clientIDs: [clientID])
    pool.algorithms = algorithms
    return TokenVerifier(issuers: [pool])
}

private func made<Value>(_ make: () throws -> Value) -> Value {
    do { return try make() } catch { preconditionFailure("\(error)") }
}

/// All public keys of the test tokens, which are for every algorithm that fits them.
private let publicKeys = made {
    let document = "{\"keys\":[" + AlgorithmTokens.keys.values.joined(separator: ",") + "]}"
    return try KeySet(
        jwks: Array(document.utf8), algorithms: AlgorithmTokens.tokens.map(\.algorithm), generation: 1)
}
private let publicVerifier = verifier(AlgorithmTokens.tokens.map(\.algorithm))
private let signedTexts = Set(AlgorithmTokens.tokens.map { signedText(Array($0.token.utf8)) })

private let secret = [UInt8](repeating: 7, count: 32)
private let secretKeys = made {
    try KeySet(secret: Secret(secret), keyID: "shared", algorithm: .hs256, generation: 2)
}
private let secretVerifier = verifier([.hs256])

private func signedText(_ token: [UInt8]) -> [UInt8] {
    Array(token[..<(token.lastIndex(of: UInt8(ascii: ".")) ?? 0)])
}

private func verified(_ token: [UInt8], _ verifier: TokenVerifier, _ keys: KeySet) -> VerifiedToken? {
    guard case .verified(let verified) = verifier.verify(token, accepting: acceptance, keys: { _ in keys }, now: now)
    else { return nil }
    return verified
}

/// Nobody here can sign with the private keys: what is verified says what one of the tokens says, in the same bytes.
private func checkForged(_ token: [UInt8]) {
    guard verified(token, publicVerifier, publicKeys) != nil else { return }
    precondition(signedTexts.contains(signedText(token)), "a forged token is verified")
}

/// Any header and claims, signed rightly: what is verified must be as the issuer's profile demands.
private func checkSigned(_ header: ArraySlice<UInt8>, _ claims: ArraySlice<UInt8>) {
    let text = Base64URL.encode(Array(header)) + "." + Base64URL.encode(Array(claims))
    let code = HMACSHA256.authenticationCode(for: Array(text.utf8), key: secret)
    guard let token = verified(Array("\(text).\(Base64URL.encode(code))".utf8), secretVerifier, secretKeys) else {
        return
    }
    guard let header = try? JSON.parse(Array(header)).objectValue,
        let claims = try? JSON.parse(Array(claims)).objectValue
    else { preconditionFailure("what is no JSON is verified") }
    precondition(header["alg"] == "HS256" && header["kid"] == "shared", "another key or algorithm is asked for")
    for name in ["crit", "b64", "jku", "jwk", "x5u", "x5c"] {
        precondition(header[name] == nil, "\(name) is let through")
    }
    precondition(claims["iss"]?.stringValue?.hasSameBytes(as: issuerName) == true, "another issuer's claims")
    precondition(claims["sub"]?.stringValue?.hasSameBytes(as: token.subject) == true, "another subject")
    precondition((1...255).contains(token.subject.utf8.count), "a subject of no length")
    precondition(claims["exp"]?.numberValue.map { $0.doubleValue + 60 > Double(now) } == true, "it has expired")
    for name in ["nbf", "iat"] {
        guard let time = claims[name] else { continue }
        precondition(time.numberValue.map { $0.doubleValue < Double(now + 61) } == true, "\(name) is still to come")
    }
    let client = token.tokenUse == .access ? claims["client_id"]?.stringValue : token.clientID
    precondition(client.map { $0.hasSameBytes(as: clientID) } == true, "another client's token")
    checkLines(token)
}

/// The header lines made of it say what it says, and are lines.
private func checkLines(_ token: VerifiedToken) {
    let writer = IdentityLines(claims: [IdentityClaim(header: "X-Any", claim: ClaimPath(["any"]))])
    guard let lines = try? writer.lines(for: token) else { return }
    var names: Set<String> = []
    var rest = lines[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\r")) {
        precondition(rest[(end + 1)...].first == UInt8(ascii: "\n"), "a line ends in half")
        let line = rest[..<end]
        precondition(line.allSatisfy { (0x20..<0x7f).contains($0) }, "a line holds what is not visible")
        let name = String(decoding: line.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
        precondition(names.insert(name).inserted, "\(name) is repeated")
        if name == "X-Auth-Subject" {
            precondition(
                decoded(line.dropFirst(name.utf8.count + 2)) == Array(token.subject.utf8), "another subject is told")
        }
        rest = rest[(end + 2)...]
    }
    precondition(rest.isEmpty && names.contains("X-Auth-Subject"), "the subject is not told")
}

private func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            result.append(byte)
            continue
        }
        guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
            preconditionFailure("a percent stands for itself")
        }
        result.append(value)
        rest = rest.dropFirst(2)
    }
    return result
}

/// Input: a token, or, behind a first byte of `!`, header and claims with a NUL between, which are then signed.
@_cdecl("fuzzToken")
public func fuzzToken(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard bytes.first == UInt8(ascii: "!") else {
        checkForged(bytes)
        return 0
    }
    let parts = bytes.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 { checkSigned(parts[0], parts[1]) }
    return 0
}
