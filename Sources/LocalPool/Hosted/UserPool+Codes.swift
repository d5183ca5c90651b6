internal import Cryptography
internal import Encoding
internal import Store

/// Authorization codes, and the browsers' sign-ins.
extension UserPool {
    /// The lifetime of an authorization code in seconds, as at Cognito.
    private static let codeLifetime: Int64 = 300
    /// The time for which a browser stays signed in, in seconds, as at Cognito.
    static let browserLifetime: Int64 = 3600
    private static let codeName = "AUTHORIZATION_CODE"
    private static let browserName = "BROWSER_SESSION"

    /// Creates a code that the requesting application exchanges for the user's tokens.
    func authorizationCode(for sub: String, _ request: AuthorizationRequest) async throws -> String {
        let code = uuid()
        var data: JSONObject = [
            "redirect_uri": .string(request.redirectURI), "scope": .string(request.scopes.joined(separator: " ")),
        ]
        data["nonce"] = request.nonce.map(JSON.string)
        data["code_challenge"] = request.codeChallenge.map(JSON.string)
        try await insert(Self.codeName, code, sub, request.client.clientID, data, lifetime: Self.codeLifetime)
        return code
    }

    /// Creates the token for the browser's cookie.
    func browserSession(of sub: String, _ clientID: String) async throws -> String {
        let token = Base64URL.encode(random(32))
        try await insert(Self.browserName, token, sub, clientID, [:], lifetime: Self.browserLifetime)
        return token
    }

    /// The user who is signed in with a browser; nil if none.
    func user(ofBrowser token: String) async throws -> UserRecord? {
        let now = clock()
        return try await store.read { database in
            guard let session = try ChallengeRecord.find(token, in: database, now: now),
                session.name == Self.browserName, let sub = session.sub,
                let user = try UserRecord.find(sub: sub, in: database), user.isEnabled
            else { return nil }
            return user
        }
    }

    func endBrowserSession(_ token: String) async throws {
        let now = clock()
        try await store.write { database in
            guard try ChallengeRecord.find(token, in: database, now: now)?.name == Self.browserName else { return }
            try ChallengeRecord.remove(token, in: database)
        }
    }

    private func insert(
        _ name: String, _ token: String, _ sub: String, _ clientID: String, _ data: JSONObject, lifetime: Int64
    ) async throws {
        let record = ChallengeRecord(
            id: ChallengeRecord.id(of: token), sub: sub, clientID: clientID, name: name, data: data,
            expires: clock() + lifetime)
        try await store.write { try record.insert(in: $0) }
    }

    /// Uses up a code, even if the request is invalid: a code is valid for one request (RFC 6749, 4.1.2).
    private func take(_ code: String, _ clientID: String) async throws -> ChallengeRecord {
        let now = clock()
        let taken = try await store.write { try? ChallengeRecord.take(code, in: $0, now: now) }
        guard let taken, taken.name == Self.codeName, taken.clientID == clientID else { throw OAuthError.invalidGrant }
        return taken
    }

    /// Exchanges a code for tokens.
    func redeem(_ form: HostedParameters, _ client: ClientAuthentication) async throws -> JSONObject {
        guard let code = form["code"], let redirectURI = form["redirect_uri"] else { throw OAuthError.invalidRequest }
        let taken = try await take(code, client.clientID)
        guard taken.data["redirect_uri"]?.stringValue == redirectURI,
            Self.proves(form["code_verifier"], taken.data["code_challenge"]?.stringValue), let sub = taken.sub
        else { throw OAuthError.invalidGrant }
        let token = newRefreshToken()
        let session = RefreshTokenRecord(
            hash: RefreshTokenRecord.hash(of: token), originJTI: uuid(), sub: sub, clientID: client.clientID,
            deviceKey: nil, authTime: clock(), expires: clock() + configuration.lifetimes.refreshToken,
            scope: taken.data["scope"]?.stringValue)
        let user = try await store.write { database -> UserRecord? in
            guard let user = try UserRecord.find(sub: sub, in: database), user.isEnabled else { return nil }
            try session.insert(in: database)
            return user
        }
        guard let user else { throw OAuthError.invalidGrant }
        return try result(for: user, session, refreshToken: token, nonce: taken.data["nonce"]?.stringValue)
    }

    /// Whether the verifier matches the code challenge (RFC 7636, 4.6).
    private static func proves(_ verifier: String?, _ challenge: String?) -> Bool {
        guard let challenge else { return true }
        guard let verifier, (43...128).contains(verifier.utf8.count) else { return false }
        return constantTimeEquals(
            Array(Base64URL.encode(SHA256.hash(Array(verifier.utf8))).utf8), Array(challenge.utf8))
    }
}
