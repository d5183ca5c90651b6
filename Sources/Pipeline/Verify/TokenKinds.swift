internal import Encoding

/// A token's use and the client that it was issued to, from the claims of each profile.
extension ClaimsCheck {
    typealias Kind = (use: TokenUse, clientID: String)

    func kind(of claims: JSONObject) throws(RejectReason) -> Kind {
        switch issuer.profile {
        case .cognito(let clientIDs, let tokenUses):
            return try cognitoKind(of: claims, clientIDs, tokenUses)
        case .apple(let audiences):
            try refuseEvents(claims)
            return (try accepted(.id), try audience(of: claims, among: audiences))
        case .openID(let rules):
            return try openIDKind(of: claims, rules)
        case .gatehouse(let audiences):
            let use = try accepted(.session)
            let audience = try audience(of: claims, among: audiences)
            // A session without these could neither be ended nor be required to sign in again.
            guard Self.isText(claims["sid"]), Self.isText(claims["jti"]), claims["auth_time"]?.numberValue != nil
            else { throw .claimMissing }
            return (use, audience)
        }
    }

    private func cognitoKind(
        of claims: JSONObject, _ clientIDs: Set<String>, _ tokenUses: Set<TokenUse>
    ) throws(RejectReason) -> Kind {
        let use: TokenUse
        switch claims["token_use"] {
        case "access": use = .access
        case "id": use = .id
        default: throw .tokenUseInvalid
        }
        guard tokenUses.contains(use) else { throw .tokenUseNotAccepted }
        guard try accepted(use) == .access else { return (use, try audience(of: claims, among: clientIDs)) }
        // The `aud` of an access token, if any, names a resource server and not the client.
        var known: String?
        claims.withText(of: "client_id") { clientID in
            known = clientIDs.first { clientID.hasSameBytes(as: $0.utf8.span) }
        }
        guard let known else { throw .clientNotAllowed }
        return (use, known)
    }

    private func openIDKind(of claims: JSONObject, _ rules: OpenIDRules) throws(RejectReason) -> Kind {
        try refuseEvents(claims)
        let use = try accepted(rules.tokenUse)
        // If a provider states the use of a token, it must be this one. Only ID tokens contain hashes of values that
        // were issued with them (OpenID Connect Core 1.0, 3.1.3.6 and 3.3.2.11).
        if let said = claims["token_use"], said != .string(use.rawValue) { throw .tokenUseNotAccepted }
        if use == .access, claims["at_hash"] != nil || claims["c_hash"] != nil { throw .tokenUseNotAccepted }
        let audience = try audience(of: claims, among: rules.audiences)
        for name in rules.requiredClaims where (claims[name] ?? .null) == .null { throw .claimMissing }
        guard use == .access else { return (use, audience) }
        // The audience of an access token is the API; it may name its client separately (RFC 9068, 2.2).
        return (use, claims["client_id"]?.stringValue ?? claims["azp"]?.stringValue ?? "")
    }

    private func accepted(_ use: TokenUse) throws(RejectReason) -> TokenUse {
        guard accepting.accepts(use) else { throw .tokenUseNotAccepted }
        return use
    }

    /// Logout tokens and other messages about a user are not tokens of that user, whatever their `typ` says (RFC 8417,
    /// 2.2; OpenID Connect Back-Channel Logout 1.0, 2.4).
    private func refuseEvents(_ claims: JSONObject) throws(RejectReason) {
        guard claims["events"] == nil else { throw .typeNotAllowed }
    }

    private func audience(of claims: JSONObject, among allowed: Set<String>) throws(RejectReason) -> String {
        guard let audience = Self.audiences(claims["aud"]).first(where: allowed.containsBytes) else {
            throw .audienceNotAllowed
        }
        return audience
    }

    /// The audiences: one string or an array of only strings (RFC 7519, 4.1.3); empty for anything else.
    static func audiences(_ claim: JSON?) -> [String] {
        switch claim {
        case .string(let audience): return [audience]
        case .array(let elements):
            let audiences = elements.compactMap(\.stringValue)
            return audiences.count == elements.count ? audiences : []
        default: return []
        }
    }

    private static func isText(_ claim: JSON?) -> Bool { claim?.stringValue?.isEmpty == false }
}

extension Set<String> {
    /// Whether an element has the same bytes; `contains` would also match canonically equivalent text.
    func containsBytes(of text: String) -> Bool {
        contains { $0.hasSameBytes(as: text) }
    }
}
