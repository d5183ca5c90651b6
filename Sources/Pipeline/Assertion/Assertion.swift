internal import Encoding

/// The gateway's statement to a backend about a caller, in a JWT that only the gateway can sign. It lets a backend
/// refuse requests that bypassed the gateway.
package struct Assertion: Sendable, Equatable {
    /// The `typ` of its header (RFC 8725, 3.11): nobody takes it for an access token, the gateway itself included.
    package static let type = "gatehouse-assertion+jwt"

    /// The whole name of the request header that it is in.
    package var header: String
    /// The `iss` claim: which gateway it is.
    package var issuer: String
    /// The `aud` claim by the name of the upstream; the name itself where there is none.
    package var audiences: [String: String]
    /// How long one is good for, in seconds.
    package var lifetime: Int64
    /// Claims that are told besides those that every identity has, each under its header's name.
    package var claims: [IdentityClaim]

    package init(
        header: String = "X-Auth-Assertion", issuer: String, audiences: [String: String] = [:], lifetime: Int64 = 60,
        claims: [IdentityClaim] = []
    ) {
        self.header = header
        self.issuer = issuer
        self.audiences = audiences
        self.lifetime = lifetime
        self.claims = claims
    }

    func audience(of upstream: String) -> String { audiences[upstream] ?? upstream }

    /// The claims of the assertion for a verified token.
    ///
    /// It has no `jti`: one assertion goes with every request of its token until it is signed anew.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - expires: the same, when it ends.
    func claims(of token: VerifiedToken, audience: String, now: Int64, expires: Int64) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(audience), "sub": .string(token.subject),
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(expires)),
            "token_iss": .string(token.issuer), "token_exp": .number(JSONNumber(token.expires)),
            "token_use": .string(token.tokenUse.rawValue),
            "scope": .string(token.scopes.joined(separator: " ")), "groups": .array(token.groups.map(JSON.string)),
        ]
        if !token.clientID.isEmpty { claims["client_id"] = .string(token.clientID) }
        claims["username"] = token.username.map(JSON.string)
        claims["email"] = token.email.map(JSON.string)
        claims["email_verified"] = token.emailVerified.map(JSON.bool)
        let identityClaims = self.claims.compactMap { claim in
            claim.claim.value(in: token.claims).map { (claim.header, $0) }
        }
        if !identityClaims.isEmpty { claims["claims"] = .object(JSONObject(identityClaims)) }
        return claims
    }
}
