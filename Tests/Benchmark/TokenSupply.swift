internal import Cryptography
import Encoding
internal import Pipeline

/// Tokens like those of a Cognito user pool, about a kilobyte each and none like another, signed with a key that is
/// thrown away.
struct TokenSupply {
    struct Token {
        let bytes: [UInt8]
        /// As a client sends it.
        let authorization: String
        let signedBytes: [UInt8]
        /// As OpenSSL wants it.
        let signature: [UInt8]
    }

    static let now: Int64 = 1_780_000_000
    private static let pool = Issuer.cognito(
        name: "pool", region: "eu-central-1", userPoolID: "eu-central-1_AbCdEfGhI",
        clientIDs: ["1example23456789abcdefghij"])

    let issuer: Issuer
    let tokens: [Token]
    let keySet: KeySet
    let bare: BareVerification

    init(count: Int, key: BenchmarkKey) throws {
        let keyID = "Pb2xUm1dTJ8kQ0vNvLr3p1v7r1rYw2yq3mF5o9t8Z6A="
        let algorithm = JSON.string(key.algorithm.rawValue)
        var jwk = key.members
        jwk["kid"] = .string(keyID)
        jwk["alg"] = algorithm
        jwk["use"] = "sig"
        var issuer = Self.pool
        issuer.algorithms = [key.algorithm]
        self.issuer = issuer
        bare = key.bare
        keySet = try KeySet(
            jwks: (["keys": [.object(jwk)]] as JSON).encoded(), algorithms: issuer.algorithms, generation: 1)
        let header = Base64URL.encode((["kid": .string(keyID), "alg": algorithm] as JSON).encoded())
        tokens = try (0..<count).map { number in
            let signed = header + "." + Base64URL.encode(Self.claims(number).encoded())
            let signature = try key.sign(Array(signed.utf8))
            let text = signed + "." + Base64URL.encode(signature.ofToken)
            return Token(
                bytes: Array(text.utf8), authorization: "Bearer " + text, signedBytes: Array(signed.utf8),
                signature: signature.encoded)
        }
    }

    private static func claims(_ number: Int) -> JSON {
        func identifier(_ kind: Int) -> JSON {
            let digits = String(number * 8 + kind, radix: 16)
            return .string("7c41a0de-83b5-4f0e-9d2c-" + String(repeating: "0", count: 12 - digits.count) + digits)
        }
        return [
            "sub": identifier(0), "cognito:groups": ["beta", "customers"], "iss": .string(pool.issuer), "version": 2,
            "client_id": "1example23456789abcdefghij", "origin_jti": identifier(1), "event_id": identifier(2),
            "token_use": "access", "scope": "openid profile aws.cognito.signin.user.admin",
            "auth_time": .number(JSONNumber(now - 60)), "exp": .number(JSONNumber(now + 3600)),
            "iat": .number(JSONNumber(now - 60)), "jti": identifier(3), "username": identifier(0),
        ]
    }
}
