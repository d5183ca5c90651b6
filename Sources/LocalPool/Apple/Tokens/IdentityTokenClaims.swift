internal import Cryptography
internal import Encoding

/// The claims of an identity token.
struct IdentityTokenClaims {
    /// The code or access token that is issued together with the identity token, which has half of its hash (OpenID
    /// Connect Core, 3.1.3.6 and 3.3.2.11).
    enum Companion {
        case code(String)
        case accessToken(String)
    }

    let issuer: String
    let clientID: String
    let account: AppleAccount
    let hidesEmail: Bool
    /// The app's nonce as given: Apple doesn't hash it.
    let nonce: String?
    let companion: Companion
    /// The time of the user's sign-in; refreshes don't change it.
    let authTime: Int64
    let writesBooleansAsText: Bool

    func object(now: Int64, lifetime: Int64) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(clientID), "exp": .number(JSONNumber(now + lifetime)),
            "iat": .number(JSONNumber(now)), "sub": .string(account.sub),
        ]
        if let nonce { claims["nonce"] = .string(nonce) }
        switch companion {
        case .code(let code): claims["c_hash"] = .string(Self.halfHash(code))
        case .accessToken(let token): claims["at_hash"] = .string(Self.halfHash(token))
        }
        claims["email"] = .string(account.email(hidden: hidesEmail))
        claims["email_verified"] = flag(account.isEmailVerified || hidesEmail)
        // Apple omits the claim for the user's own address.
        if hidesEmail { claims["is_private_email"] = flag(true) }
        claims["auth_time"] = .number(JSONNumber(authTime))
        claims["nonce_supported"] = .bool(true)
        if case .code = companion { claims["real_user_status"] = .number(JSONNumber(account.realUserStatus)) }
        return claims
    }

    private func flag(_ value: Bool) -> JSON {
        writesBooleansAsText ? .string(value ? "true" : "false") : .bool(value)
    }

    private static func halfHash(_ text: String) -> String {
        Base64URL.encode(Array(SHA256.hash(Array(text.utf8)).prefix(16)))
    }
}

extension JSONObject {
    /// Returns the object with members replaced by those of `changes`; null removes a member.
    func changed(by changes: JSONObject) -> JSONObject {
        var result = self
        for (name, value) in changes {
            if case .null = value { result[name] = nil } else { result[name] = value }
        }
        return result
    }
}
