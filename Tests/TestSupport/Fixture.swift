package import Accounts
package import Cognito
package import Cryptography
package import Encoding
package import HTTPClient
import HTTPTypes
import Logging
package import Pipeline
package import Sealing
package import Store

/// The pool, app client and user of all tests.
package enum Fixture {
    package static let now: Int64 = 1_700_000_000
    package static let poolID = "eu-west-1_Example12"
    package static let issuer = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example12"
    package static let clientID = "1h57kf5cpq17m0eml12EXAMPLE"
    package static let clientSecret = "s3cr3t-of-the-app-client"
    package static let email = "ada@example.com"
    package static let username = "7d8ca528-4931-4254-9273-ea5ee853f271"
    package static let password = "correct horse battery"
    // Both computed with `openssl dgst -sha256 -hmac`.
    package static let emailHash = "Op5EICibFelTzPp9UvFex8PQ3t4fWRYVrc+xL7adVNI="
    package static let usernameHash = "5mJ5JSCF6tftsKL2YJtWbcg4raZv/3Y8H1ZmAWDUlu8="

    package static func ring() throws -> SealingKeyRing {
        try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 7, count: 32))))
    }

    package static func settings() -> CognitoSignInSettings {
        CognitoSignInSettings(
            endpoint: "https://cognito-idp.eu-west-1.amazonaws.com/", issuer: issuer, poolID: poolID,
            clientID: clientID, clientSecret: Secret(clientSecret))
    }

    package static func accounts(
        _ fetcher: any Fetcher, settings: CognitoSignInSettings? = nil, log: CapturedLog = CapturedLog(),
        now: Int64 = now, records: (any SessionRecords)? = nil, accountGuard: any AccountGuard = RecordedCalls(),
        revocations: RecordedRevocations = RecordedRevocations(), revocationTime: Int64? = nil,
        isRevoked: @escaping @Sendable (VerifiedToken) -> Bool = { _ in false },
        hasUnstored: @escaping @Sendable () -> Bool = { false }, signer: RequestSigner? = nil,
        codes: (any AuthorizationCodeRecords)? = nil, passwordChanges: PasswordChanges? = nil,
        siblings: SiblingClients = SiblingClients(), after previous: CognitoAccounts? = nil
    ) throws -> CognitoAccounts {
        CognitoAccounts(
            settings: settings ?? Self.settings(), sealingKeys: try ring(), fetcher: fetcher, signer: signer,
            records: try records ?? self.records(), codes: codes, passwordChanges: passwordChanges,
            siblings: siblings, flow: AccountFlow(accountGuard),
            revoke: { try revocations.add($0) },
            isRevoked: isRevoked, hasUnstored: hasUnstored, revocationTime: { revocationTime ?? now },
            after: previous, now: { now },
            random: { [UInt8](repeating: 9, count: $0) },
            logger: log.logger)
    }

    package static func records() throws -> StoredSessions {
        try StoredSessions(Store(path: ":memory:", migrations: StoredSessions.migrations))
    }

    package static func request(_ operation: AccountOperation, _ body: JSON = .null) -> AccountRequest {
        AccountRequest(
            operation: operation, body: body == .null ? [] : body.encoded(), contentType: "application/json",
            requestID: "request-1", clientAddress: "192.0.2.7")
    }

    package static func login(_ more: JSONObject = [:]) -> AccountRequest {
        var body: JSONObject = ["email": .string(email), "password": .string(password)]
        for (name, value) in more { body[name] = value }
        return request(.login, .object(body))
    }

    /// A call with a verified access token.
    package static func bearer(_ operation: AccountOperation, _ body: JSON = .null) -> AccountRequest {
        var request = request(operation, body)
        request.bearer = Secret(accessToken)
        request.identity = identity()
        return request
    }

    package static func refresh(_ token: Secret) -> AccountRequest {
        request(.refresh, ["refresh_token": .string(token.exposeText())])
    }

    /// Whether what is sealed with one ring opens with the other.
    package static func fits(_ sealing: SealingKeyRing, _ opening: SealingKeyRing) throws -> Bool {
        let text = try SealedText.seal([1, 2, 3], as: .nonce, with: sealing, poolID: poolID)
        return (try? SealedText.open(text, as: .nonce, with: opening, poolID: poolID)) != nil
    }

    package static func jwt(_ claims: JSONObject) -> String {
        let header = Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8))
        return "\(header).\(Base64URL.encode(claims.encoded())).c2lnbmF0dXJl"
    }

    package static let accessToken = jwt([
        "sub": .string(username), "username": .string(username), "token_use": "access",
        "scope": "aws.cognito.signin.user.admin", "cognito:groups": ["beta"], "origin_jti": "origin-1",
    ])
    package static let idToken = jwt([
        "sub": .string(username), "cognito:username": .string(username), "email": .string(email),
        "email_verified": true, "token_use": "id", "custom:plan": "gold", "aud": .string(clientID),
        "phone_number_verified": "true",
    ])

    /// Cognito's answer to a sign-in, or to a refresh when `refreshToken` is nil.
    package static func tokens(refreshToken: String? = "provider-refresh-token") -> FetchResponse {
        var result: JSONObject = [
            "AccessToken": .string(accessToken), "IdToken": .string(idToken), "ExpiresIn": 3600,
            "TokenType": "Bearer",
        ]
        result["RefreshToken"] = refreshToken.map(JSON.string)
        return FetchResponse(status: 200, body: (["AuthenticationResult": .object(result)] as JSON).encoded())
    }

    /// An answer with this output.
    package static func output(_ output: JSON) -> FetchResponse { FetchResponse(status: 200, body: output.encoded()) }

    package static func failure(_ type: String, _ message: String = "") -> FetchResponse {
        FetchResponse(status: 400, body: (["__type": .string(type), "message": .string(message)] as JSON).encoded())
    }

    package static func identity(
        issuer: String = issuer, tokenUse: TokenUse = .access, scopes: [String] = [UserAttributeRule.scope]
    ) -> VerifiedToken {
        VerifiedToken(
            issuer: issuer, issuerName: "pool", subject: username, tokenUse: tokenUse, clientID: clientID,
            username: username, email: nil, emailVerified: nil, groups: ["beta"], scopes: scopes,
            expires: now + 3600, issuedAt: now, claims: ["origin_jti": "origin-1"], keyID: "key-1")
    }
}

extension AccountAnswer {
    package var json: JSON { (try? JSON.parse(body)) ?? .null }
    package var text: String { String(decoding: body, as: UTF8.self) }
}

extension SessionRecords {
    /// Keeps a new session that is given for no authorization code.
    package func begin(_ record: SessionRecord) async throws { _ = try await begin(record, redeeming: nil) }
}
