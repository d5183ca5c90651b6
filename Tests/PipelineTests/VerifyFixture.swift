import Cryptography
import Encoding
import Pipeline

/// A pool, its keys and its tokens, as the verification tests want them.
struct VerifyFixture {
    static let now: Int64 = 1_780_000_000
    static let clientID = "1example23456789"
    static let keyID = "access-key="
    static let pool = Issuer.cognito(
        name: "pool", region: "eu-west-1", userPoolID: "eu-west-1_Example", clientIDs: [clientID, "second-client"])
    static let otherPool = Issuer.cognito(
        name: "other", region: "eu-west-1", userPoolID: "eu-west-1_Other", clientIDs: [clientID])

    /// Made once for the whole process: making a key takes long.
    private static let made = Result { () throws(CryptographyError) in
        (try RSASigningKey.generate(bits: 2048), try RSASigningKey.generate(bits: 2048))
    }

    let key: RSASigningKey
    let otherKey: RSASigningKey
    let keySet: KeySet
    let otherKeySet: KeySet

    init() throws {
        (key, otherKey) = try Self.made.get()
        keySet = try Self.keySet(of: [(Self.keyID, key), ("id-key=", key)], generation: 1)
        otherKeySet = try Self.keySet(of: [(Self.keyID, otherKey)], generation: 2)
    }

    static func jwk(_ key: RSASigningKey, id: String) -> JSONObject {
        [
            "kty": "RSA", "kid": .string(id), "use": "sig", "alg": "RS256",
            "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
        ]
    }

    static func keySet(of keys: [(id: String, key: RSASigningKey)], generation: UInt64) throws -> KeySet {
        let document: JSON = ["keys": .array(keys.map { .object(jwk($0.key, id: $0.id)) })]
        return try KeySet(jwks: document.encoded(), generation: generation)
    }

    static let header: JSONObject = ["kid": .string(keyID), "alg": "RS256"]

    static let accessClaims: JSONObject = [
        "sub": "6f1c2a4e-0000-4000-8000-1234567890ab", "cognito:groups": ["beta", "staff"],
        "iss": .string(pool.issuer), "client_id": .string(clientID), "token_use": "access",
        "scope": "openid email", "auth_time": 1_779_999_000, "exp": 1_780_003_600, "iat": 1_780_000_000,
        "jti": "7d1f", "username": "6f1c2a4e-0000-4000-8000-1234567890ab",
    ]

    static let idClaims: JSONObject = [
        "sub": "6f1c2a4e-0000-4000-8000-1234567890ab", "email_verified": true, "iss": .string(pool.issuer),
        "cognito:username": "ada", "aud": .string(clientID), "token_use": "id", "exp": 1_780_003_600,
        "iat": 1_780_000_000, "email": "ada@example.com",
    ]

    /// A token with exactly these texts as header and payload, signed by `key` or the pool's own.
    func token(headerText: String, payloadText: String, signedBy signer: RSASigningKey? = nil) throws -> String {
        let signed = Base64URL.encode(Array(headerText.utf8)) + "." + Base64URL.encode(Array(payloadText.utf8))
        return signed + "." + Base64URL.encode(try (signer ?? key).sign(Array(signed.utf8)))
    }

    func token(
        header: JSONObject = header, claims: JSONObject = accessClaims, signedBy signer: RSASigningKey? = nil
    ) throws -> String {
        try token(
            headerText: String(decoding: header.encoded(), as: UTF8.self),
            payloadText: String(decoding: claims.encoded(), as: UTF8.self), signedBy: signer)
    }

    /// An access token with this member written so, whatever an encoder would write.
    func token(member: String, replacing name: String) throws -> String {
        try token(
            headerText: String(decoding: Self.header.encoded(), as: UTF8.self),
            payloadText: Self.accessClaims.text(with: member, replacing: name))
    }

    /// The verdict of a verifier that knows both pools and has both key sets.
    func verdict(
        _ token: String, accepting: TokenAcceptance = TokenAcceptance(tokenUses: [.access, .id]), now: Int64 = now
    ) -> Verdict {
        TokenVerifier(issuers: [Self.pool, Self.otherPool]).verify(
            token.utf8, accepting: accepting, keys: { [keySet, otherKeySet][$0] }, now: now)
    }

    func reason(
        _ token: String, accepting: TokenAcceptance = TokenAcceptance(tokenUses: [.access, .id]), now: Int64 = now
    ) -> RejectReason? {
        if case .rejected(let reason) = verdict(token, accepting: accepting, now: now) { reason } else { nil }
    }

    func verified(_ token: String, now: Int64 = now) -> VerifiedToken? {
        if case .verified(let token) = verdict(token, now: now) { token } else { nil }
    }
}

extension JSONObject {
    /// The object with one member set, or removed by nil.
    func with(_ name: String, _ value: JSON?) -> JSONObject {
        var object = self
        object[name] = value
        return object
    }

    /// The object's text with this member in it as it is written here, so that it can be what no encoder writes.
    func text(with member: String, replacing name: String) -> String {
        let rest = String(decoding: with(name, nil).encoded().dropLast(), as: UTF8.self)
        return "\(rest),\(member)}"
    }
}
