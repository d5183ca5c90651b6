internal import Encoding

/// The gateway's statement to a backend about a caller, in a JWT that only the gateway can sign. It lets a backend
/// refuse requests that bypassed the gateway.
package struct Assertion: Sendable, Equatable {
    /// The `typ` header (RFC 8725, 3.11). It keeps all verifiers, including the gateway, from accepting an assertion as
    /// an access token.
    package static let type = "gatehouse-assertion+jwt"

    /// The full name of the request header that carries the assertion.
    package var header: String
    /// The `iss` claim, which identifies the gateway.
    package var issuer: String
    /// The `aud` claim by upstream name. An upstream without an entry has its name as `aud`.
    package var audiences: [String: String]
    /// The lifetime of an assertion, in seconds.
    package var lifetime: Int64
    /// Claims in addition to those of every identity, each under the name of its header.
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
    /// There is no `jti`: one assertion accompanies every request of its token until it is renewed.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - expires: the `exp` claim, in seconds since 1970.
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
