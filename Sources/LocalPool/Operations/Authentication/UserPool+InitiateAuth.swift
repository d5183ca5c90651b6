package import Pipeline
internal import Store

extension UserPool {
    private static let flows = [
        "USER_SRP_AUTH", "REFRESH_TOKEN_AUTH", "REFRESH_TOKEN", "CUSTOM_AUTH", "ADMIN_NO_SRP_AUTH",
        "USER_PASSWORD_AUTH", "ADMIN_USER_PASSWORD_AUTH", "USER_AUTH",
    ]

    /// InitiateAuth with the flows this pool's client has: USER_PASSWORD_AUTH and, without rotation, REFRESH_TOKEN_AUTH.
    package func initiateAuth(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let flow = try fields.required("AuthFlow")
        try client.checkClient(try fields.required("ClientId", maximum: 128))
        let parameters = try fields.map("AuthParameters")
        let tokens: JSON
        switch flow {
        case "USER_PASSWORD_AUTH":
            tokens = try await signIn(parameters)
        case "REFRESH_TOKEN_AUTH", "REFRESH_TOKEN":
            tokens = try await refresh(parameters)
        case let flow where Self.flows.contains(flow):
            throw PoolError.invalidParameter("\(flow) flow not enabled for this client")
        default:
            throw RequestFields.violation(
                "Value at 'authFlow'", "Member must satisfy enum value set: [\(Self.flows.joined(separator: ", "))]")
        }
        return ["AuthenticationResult": tokens, "ChallengeParameters": [:]]
    }

    private func signIn(_ parameters: RequestFields) async throws -> JSON {
        let username = try parameters.parameter("USERNAME", maximum: 128)
        let password = try parameters.parameter("PASSWORD", maximum: 256)
        try client.checkSecretHash(try parameters.optional("SECRET_HASH"), username: username)
        let user = try await authenticate(username, password)
        let session = try newSession(of: user)
        try await store.write { try session.record.insert(in: $0) }
        return try result(for: user, session.record, refreshToken: session.token)
    }

    /// The user, if the password is right and the user may sign in.
    private func authenticate(_ username: String, _ password: String) async throws -> UserRecord {
        let user = try await store.read { try UserRecord.find(username, in: $0) }
        let now = clock()
        if configuration.hasLockout, let user, user.lockedUntil > now { throw PoolError.attemptsExceeded }
        let isRight = try await passwords.matchesOffThread(password, user?.passwordHash ?? decoyHash)
        guard let user else {
            throw configuration.preventsUserExistenceErrors ? PoolError.badCredentials : PoolError.userNotFound
        }
        guard isRight else {
            try await store.write { try SignInAttempts.recordFailure(of: user.sub, in: $0, now: now) }
            throw PoolError.badCredentials
        }
        if user.failedAttempts > 0 {
            try await store.write { try SignInAttempts.clear(user.sub, in: $0) }
        }
        guard user.isConfirmed else { throw PoolError.userNotConfirmed }
        return user
    }

    private func newSession(of user: UserRecord) throws -> (token: String, record: RefreshTokenRecord) {
        let token = newRefreshToken()
        let now = clock()
        let record = RefreshTokenRecord(
            hash: RefreshTokenRecord.hash(of: token), originJTI: uuid(), sub: user.sub, authTime: now,
            expires: now + configuration.lifetimes.refreshToken)
        return (token, record)
    }

    func newRefreshToken() -> String { Base64URL.encode(random(RefreshTokenRecord.randomByteCount)) }

    /// AuthenticationResult. Without rotation a refresh has no RefreshToken in it.
    func result(for user: UserRecord, _ session: RefreshTokenRecord, refreshToken: String?) throws -> JSON {
        let lifetimes = configuration.lifetimes
        let claims = TokenClaims(
            issuer: issuer, clientID: client.clientID, user: user, originJTI: session.originJTI, eventID: uuid(),
            authTime: session.authTime, now: clock())
        var result: JSONObject = [
            "AccessToken": .string(
                try keys.access.sign(claims.access(jti: uuid(), lifetime: lifetimes.accessToken))),
            "ExpiresIn": .number(JSONNumber(lifetimes.accessToken)),
            "IdToken": .string(try keys.id.sign(claims.id(jti: uuid(), lifetime: lifetimes.idToken))),
        ]
        if let refreshToken { result["RefreshToken"] = .string(refreshToken) }
        result["TokenType"] = "Bearer"
        return .object(result)
    }
}
