import Cryptography
import Encoding
import HTTPClient
import Pipeline
import Store
import TestSupport

@testable import Accounts
@testable import Sealing
@testable import Sessions

/// The team, app, user and values of all tests of Sign in with Apple. Nonce and code are public examples, whose claims
/// were computed with another implementation.
enum AppleFixture {
    static let now: Int64 = 1_780_000_000
    static let issuer = "https://appleid.apple.com"
    static let app = "com.example.app"
    static let driverApp = "com.example.pro"
    static let subject = "001234.0123456789abcdef0123456789abcdef.0123"
    static let nonce = "n-0S6_WzA2Mj-raw-nonce-0123456789"
    static let nonceClaim = "2370a370776ebdbe06dc55ee132f4493db8afd9fc784649c2b3c0e808ae04ff9"
    static let code = "c1234567890abcdef.0.example.code"
    static let codeClaim = "LbopexUUSTBMEGzSBfegoA"

    static let rules = AppleIdentityRules(roles: [app: "customer", driverApp: "driver"])

    static let claims: JSONObject = [
        "iss": .string(issuer), "aud": .string(app), "sub": .string(subject), "iat": .number(JSONNumber(now - 5)),
        "exp": .number(JSONNumber(now + 86_400)), "auth_time": .number(JSONNumber(now - 5)),
        "nonce": .string(nonceClaim), "nonce_supported": true, "email": "relay@privaterelay.appleid.com",
        "email_verified": true, "is_private_email": true, "real_user_status": 2, "c_hash": .string(codeClaim),
    ]

    /// A token as the verifier gives it. A claim of `nil` is left out.
    static func token(_ changes: [(String, JSON?)] = []) -> VerifiedToken {
        var claims = claims
        for (name, value) in changes { claims[name] = value }
        return VerifiedToken(
            issuer: issuer, issuerName: "apple", subject: subject, tokenUse: .id,
            clientID: claims["aud"]?.stringValue ?? "", email: claims["email"]?.stringValue,
            emailVerified: claims["email_verified"]?.flagValue, expires: now + 86_400,
            issuedAt: claims["iat"]?.integerValue, claims: claims, keyID: "k1")
    }

    static func proof(
        nonce: String = nonce, code: String? = nil, userIdentifier: String? = nil
    ) -> AppleIdentityRules.Proof {
        AppleIdentityRules.Proof(
            nonce: Secret(nonce), authorizationCode: code.map { Secret($0) }, userIdentifier: userIdentifier)
    }

    /// RFC 7515, A.3, as PKCS#8 like Apple's `.p8` files.
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
        H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
        7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
        -----END PRIVATE KEY-----
        """

    static func secret() throws -> AppleClientSecret {
        AppleClientSecret(teamID: "TEAM123456", keyID: "KEY1234567", key: try P256SigningKey(pem: Secret(key)))
    }

    static func client(_ fetcher: any Fetcher) throws -> AppleClient {
        AppleClient(endpoint: issuer, secret: try secret(), fetcher: fetcher, now: { now })
    }

    // MARK: A sign-in over a database in memory

    /// Made once for the whole process: making a key takes long.
    private static let made = Result { () throws(CryptographyError) in try RSASigningKey.generate(bits: 2048) }

    /// Apple's keys; none where there are none to be had.
    struct Keys: IssuerKeys {
        var currentSet: KeySet?
        func findKey(_ keyID: String) async {}
    }

    static func keys() throws -> Keys {
        let key = try made.get()
        let document: JSON = [
            "keys": [
                [
                    "kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256",
                    "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
                ]
            ]
        ]
        return Keys(currentSet: try KeySet(jwks: document.encoded(), generation: 1))
    }

    static func jws(_ claims: JSONObject) throws -> String {
        let header: JSONObject = ["alg": "RS256", "kid": "k1"]
        let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
        return signed + "." + Base64URL.encode(try made.get().sign(Array(signed.utf8)))
    }

    /// - Parameter changes: to the usual claims; `nil` leaves one out.
    static func identityToken(_ changes: [(String, JSON?)] = []) throws -> String {
        var claims = claims
        for (name, value) in changes { claims[name] = value }
        return try jws(claims)
    }

    static let issuerSettings = Issuer(
        name: "apple", issuer: issuer, profile: .apple(audiences: [app, driverApp]),
        keySource: .url("https://appleid.apple.com/auth/keys"))

    static func grants(
        _ records: any AppleTokenRecords, _ fetcher: any Fetcher, _ log: CapturedLog,
        sealingKeys: SealingKeyRing? = nil, limit: Int = 9, now: Int64 = now, shared: SharedValues? = nil,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws -> AppleGrants {
        AppleGrants(
            client: try client(fetcher), records: records, sealingKeys: try sealingKeys ?? Fixture.ring(),
            message: { revocation in
                OutboxMessage(
                    key: Hexadecimal.encode(SHA256.hash(revocation.sealed)), destination: "apple", kind: "revoke",
                    body: revocation.text, createdAt: 0)
            }, limit: limit, shared: shared, now: { now }, pause: pause, logger: log.logger)
    }

    static func signIn(
        _ users: StoredUsers, _ log: CapturedLog, grants: AppleGrants? = nil, spent: (any SingleUseRecords)? = nil,
        keys: (any IssuerKeys)? = nil, now: Int64 = now, _ change: (inout AppleSignInSettings) -> Void = { _ in }
    ) throws -> AppleSignIn {
        var settings = AppleSignInSettings(
            roles: rules.roles, roleConflict: RoleConflictMessages("Use the other app."))
        change(&settings)
        return AppleSignIn(
            issuer: issuerSettings, settings: settings, keys: try keys ?? self.keys(),
            spent: spent ?? users, grants: grants, sealingKeys: try Fixture.ring(), now: { now },
            random: { [UInt8](repeating: 5, count: $0) }, logger: log.logger)
    }
}
