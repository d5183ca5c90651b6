internal import Cryptography
internal import Encoding

extension TokenVerifier {
    /// The differences between a rejected token and the settings. The signature is not checked.
    ///
    /// If `iss` names none of the accepted issuers and only one is accepted, the rest is compared with that issuer's
    /// settings.
    ///
    /// - Parameters: as for ``verify(_:accepting:keys:now:)``.
    /// - Returns: empty if the text is not a token, or if it is rejected for something that is not compared here.
    package func differences(
        of token: some Collection<UInt8>, accepting: TokenAcceptance, keys: (_ issuerIndex: Int) -> KeySet?, now: Int64
    ) -> [TokenDifference] {
        let bytes = Array(token)
        guard bytes.count <= maximumTokenBytes, let token = try? CompactToken(bytes.span),
            let claims = try? token.claims()
        else { return [] }
        let accepted = issuers.indices.filter { accepting.accepts(issuerNamed: issuers[$0].name) }
        let name = claims["iss"]?.stringValue
        let named = accepted.first { index in name.map { issuers[index].issuer.hasSameBytes(as: $0) } ?? false }
        var differences: [TokenDifference] = []
        if named == nil {
            var expected: [String] = []
            for index in accepted where !expected.contains(where: issuers[index].issuer.hasSameBytes) {
                expected.append(issuers[index].issuer)
            }
            differences.append(TokenDifference("iss", expected: expected, got: claims["iss"]))
        }
        guard let index = named ?? (accepted.count == 1 ? accepted.first : nil) else { return differences }
        let comparison = TokenComparison(issuer: issuers[index], accepting: accepting, now: now)
        if let (header, _) = try? token.checkedHeader() {
            differences += comparison.differences(of: header, keys: keys(index))
        }
        return differences + comparison.differences(of: claims)
    }
}

/// The comparison of a token with one issuer's settings: the checks of ``ClaimsCheck``, but all of them at once.
private struct TokenComparison {
    let issuer: Issuer
    let accepting: TokenAcceptance
    let now: Int64

    /// The maximum number of values that are listed.
    private static let maximumValues = 8

    func differences(of header: TokenHeader, keys: KeySet?) -> [TokenDifference] {
        var differences: [TokenDifference] = []
        if header.algorithm(among: issuer.algorithms) == nil {
            differences.append(
                TokenDifference("alg", expected: issuer.algorithms.map(\.rawValue), got: .string(header.algorithmName)))
        }
        if !issuer.types.accepts(header.type) {
            differences.append(
                TokenDifference("typ", expected: issuer.types.names.sorted(), got: header.type.map(JSON.string)))
        }
        if let keys, !issuer.hasNamelessKey, !keys.holds(id: header.keyID) {
            differences.append(
                TokenDifference(
                    "kid", expected: Array(keys.keyIDs.prefix(Self.maximumValues)),
                    got: header.keyID.isEmpty ? nil : .string(header.keyID)))
        }
        return differences
    }

    func differences(of claims: JSONObject) -> [TokenDifference] { kind(claims) + times(claims) }

    // MARK: The kind of token

    private func kind(_ claims: JSONObject) -> [TokenDifference] {
        switch issuer.profile {
        case .cognito(let clientIDs, let tokenUses): return cognito(claims, clientIDs, tokenUses)
        case .apple(let audiences): return use(.id) + audience(claims, audiences)
        case .gatehouse(let audiences): return use(.session) + audience(claims, audiences)
        case .openID(let rules):
            var differences = use(rules.tokenUse)
            if let said = claims["token_use"], said != .string(rules.tokenUse.rawValue) {
                differences.append(TokenDifference("token_use", expected: [rules.tokenUse.rawValue], got: said))
            }
            differences += audience(claims, rules.audiences)
            for name in rules.requiredClaims where (claims[name] ?? .null) == .null {
                differences.append(TokenDifference(name, expected: ["any value"], got: claims[name]))
            }
            return differences
        }
    }

    /// The token's use determines the claim that names the client, whether that use is accepted or not.
    private func cognito(
        _ claims: JSONObject, _ clientIDs: Set<String>, _ tokenUses: Set<TokenUse>
    ) -> [TokenDifference] {
        let said = claims["token_use"]
        let wanted = tokenUses.filter(accepting.accepts).map(\.rawValue).sorted()
        let isWanted = wanted.contains { said == .string($0) }
        var differences = isWanted ? [] : [TokenDifference("token_use", expected: wanted, got: said)]
        if said == "id" { return differences + audience(claims, clientIDs) }
        let client = claims["client_id"]
        if !(client?.stringValue.map(clientIDs.containsBytes) ?? false) {
            differences.append(TokenDifference("client_id", expected: named(clientIDs), got: client))
        }
        return differences
    }

    /// The difference in the use that all tokens of the issuer have, if another one is required.
    private func use(_ use: TokenUse) -> [TokenDifference] {
        guard !accepting.accepts(use) else { return [] }
        let accepted = accepting.tokenUses.map(\.rawValue).sorted()
        return [TokenDifference("token_use", expected: accepted, got: .string(use.rawValue))]
    }

    private func audience(_ claims: JSONObject, _ allowed: Set<String>) -> [TokenDifference] {
        guard !ClaimsCheck.audiences(claims["aud"]).contains(where: allowed.containsBytes) else { return [] }
        return [TokenDifference("aud", expected: named(allowed), got: claims["aud"])]
    }

    private func named(_ values: Set<String>) -> [String] { Array(values.sorted().prefix(Self.maximumValues)) }

    // MARK: Times

    private func times(_ claims: JSONObject) -> [TokenDifference] {
        var differences: [TokenDifference] = []
        if let expires = claims["exp"]?.numberValue?.numericDate {
            let skew = issuer.skew + issuer.grace
            if now >= expires + skew { differences.append(.tooEarly("exp", expires, skew: skew, now: now)) }
        } else {
            differences.append(TokenDifference("exp", expected: ["a time"], got: claims["exp"]))
        }
        for name in ["nbf", "iat"] {
            guard let claim = claims[name] else { continue }
            guard let time = claim.numberValue?.numericDate else {
                differences.append(TokenDifference(name, expected: ["a time"], got: claim))
                continue
            }
            if time > now + issuer.skew { differences.append(.tooLate(name, time, skew: issuer.skew, now: now)) }
        }
        return differences
    }
}
