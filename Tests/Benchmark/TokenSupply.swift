internal import Cryptography
internal import Pipeline

/// Tokens like those of a Cognito user pool, about a kilobyte each and none like another, signed with a key that is
/// thrown away.
struct TokenSupply {
    struct Token {
        let bytes: [UInt8]
        /// As a client sends it.
        let authorization: String
        let signedBytes: [UInt8]
        let signature: [UInt8]
    }

    static let now: Int64 = 1_780_000_000
    static let issuer = Issuer.cognito(
        name: "pool", region: "eu-central-1", userPoolID: "eu-central-1_AbCdEfGhI",
        clientIDs: ["1example23456789abcdefghij"])

    let tokens: [Token]
    let keySet: KeySet
    let modulus: [UInt8]
    let exponent: [UInt8]

    init(count: Int) throws {
        let key = try RSASigningKey.generate(bits: 2048)
        let keyID = "Pb2xUm1dTJ8kQ0vNvLr3p1v7r1rYw2yq3mF5o9t8Z6A="
        let jwk: JSON = [
            "kty": "RSA", "alg": "RS256", "use": "sig", "kid": .string(keyID),
            "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
        ]
        keySet = try KeySet(jwks: (["keys": [jwk]] as JSON).encoded(), generation: 1)
        (modulus, exponent) = (key.modulus, key.exponent)
        let header = Base64URL.encode((["kid": .string(keyID), "alg": "RS256"] as JSON).encoded())
        tokens = try (0..<count).map { number in
            let signed = header + "." + Base64URL.encode(Self.claims(number).encoded())
            let signature = try key.sign(Array(signed.utf8))
            let text = signed + "." + Base64URL.encode(signature)
            return Token(
                bytes: Array(text.utf8), authorization: "Bearer " + text, signedBytes: Array(signed.utf8),
                signature: signature)
        }
    }

    private static func claims(_ number: Int) -> JSON {
        func identifier(_ kind: Int) -> JSON {
            let digits = String(number * 8 + kind, radix: 16)
            return .string("7c41a0de-83b5-4f0e-9d2c-" + String(repeating: "0", count: 12 - digits.count) + digits)
        }
        return [
            "sub": identifier(0), "cognito:groups": ["beta", "customers"], "iss": .string(issuer.issuer), "version": 2,
            "client_id": "1example23456789abcdefghij", "origin_jti": identifier(1), "event_id": identifier(2),
            "token_use": "access", "scope": "openid profile aws.cognito.signin.user.admin",
            "auth_time": .number(JSONNumber(now - 60)), "exp": .number(JSONNumber(now + 3600)),
            "iat": .number(JSONNumber(now - 60)), "jti": identifier(3), "username": identifier(0),
        ]
    }
}
