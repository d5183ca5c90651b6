internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// The response after a successful step: the next challenge, or tokens.
    func proceed(_ user: UserRecord, _ attempt: SignInAttempt) async throws -> JSONObject {
        let now = clock()
        let step = try await store.write { try nextStep(user, attempt, in: $0, now: now) }
        return try answer(step, user)
    }

    /// - Parameter user: nil only with a refusal.
    func answer(_ step: SignInStep, _ user: UserRecord?) throws -> JSONObject {
        switch step {
        case .refusal(let error):
            throw error
        case .challenge(let answer):
            return answer
        case .proven:
            return [Self.provenUser: user.map { .string($0.sub) } ?? .null]
        case .session(let session, let token, let device):
            guard let user else { throw PoolError.internalError }
            var tokens = try result(for: user, session, refreshToken: token)
            if let device {
                tokens["NewDeviceMetadata"] = [
                    "DeviceGroupKey": .string(device.groupKey), "DeviceKey": .string(device.key),
                ]
            }
            return ["AuthenticationResult": .object(tokens), "ChallengeParameters": [:]]
        }
    }

    /// The next step in Cognito's order: a new password, then a remembered device or the second factor, then tokens.
    func nextStep(
        _ user: UserRecord, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep {
        if user.status == .mustChangePassword {
            if let expires = user.passwordExpires, expires <= now { throw PoolError.temporaryPasswordExpired }
            return try newPasswordChallenge(user, attempt, in: database, now: now)
        }
        if !attempt.hasSecondFactor {
            if let step = try deviceChallenge(user, attempt, in: database, now: now) { return step }
            if let step = try secondFactorChallenge(user, attempt, in: database, now: now) { return step }
        }
        guard !attempt.isHosted else { return .proven }
        return try newSession(user, attempt, in: database, now: now)
    }

    /// The member of a response that replaces the tokens and names the user of a hosted sign-in.
    static var provenUser: String { "ProvenUser" }

    /// Creates a challenge with a session.
    func challenge(
        _ name: String, _ parameters: JSONObject, of user: UserRecord, _ attempt: SignInAttempt,
        adding data: JSONObject = [:], in database: Database, now: Int64
    ) throws -> SignInStep {
        let token = newSessionToken()
        var stored = attempt.data
        for (name, value) in data { stored[name] = value }
        try ChallengeRecord(
            id: ChallengeRecord.id(of: token), sub: user.sub, clientID: attempt.clientID, name: name, data: stored,
            expires: now + configuration.lifetimes.session
        ).insert(in: database)
        var parameters = parameters
        parameters["USER_ID_FOR_SRP"] = .string(user.username)
        return .challenge([
            "ChallengeName": .string(name), "ChallengeParameters": .object(parameters), "Session": .string(token),
        ])
    }

    func newSessionToken() -> String { Base64URL.encode(random(600)) }

    /// Creates tokens, and a device key if the pool tracks devices and the device has no key.
    private func newSession(
        _ user: UserRecord, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep {
        try run(.postAuthentication, for: user.email)
        var newDevice: DeviceRecord?
        if configuration.devices != .off, attempt.deviceKey == nil {
            let device = DeviceRecord(
                key: "\(configuration.region)_\(uuid())", sub: user.sub, groupKey: "-\(Base64URL.encode(random(6)))",
                isRemembered: false, createdAt: now, changedAt: now, authenticatedAt: now)
            try device.save(in: database)
            newDevice = device
        }
        let token = newRefreshToken()
        let session = RefreshTokenRecord(
            hash: RefreshTokenRecord.hash(of: token), originJTI: uuid(), sub: user.sub, clientID: attempt.clientID,
            deviceKey: newDevice?.key ?? attempt.deviceKey, authTime: now,
            expires: now + configuration.lifetimes.refreshToken)
        try session.insert(in: database)
        return .session(session, token: token, newDevice: newDevice)
    }

    func newRefreshToken() -> String { Base64URL.encode(random(RefreshTokenRecord.randomByteCount)) }

    /// AuthenticationResult. The result of a refresh without rotation has no RefreshToken.
    func result(
        for user: UserRecord, _ session: RefreshTokenRecord, refreshToken: String?, nonce: String? = nil
    ) throws -> JSONObject {
        try run(.preTokenGeneration, for: user.email)
        let lifetimes = configuration.lifetimes
        let clientID = session.clientID.isEmpty ? configuration.clients[0].id : session.clientID
        let client = clients.first { $0.clientID == clientID }
        let claims = TokenClaims(
            issuer: issuer, clientID: clientID, user: user, originJTI: session.originJTI,
            deviceKey: session.deviceKey, eventID: uuid(), authTime: session.authTime, now: clock(),
            scope: session.scope, nonce: nonce, isReadable: { client?.reads($0) ?? true })
        var result: JSONObject = [
            "AccessToken": .string(
                try keys.access.sign(claims.access(jti: uuid(), lifetime: lifetimes.accessToken))),
            "ExpiresIn": .number(JSONNumber(lifetimes.accessToken)),
            "IdToken": .string(try keys.id.sign(claims.id(jti: uuid(), lifetime: lifetimes.idToken))),
        ]
        if let refreshToken { result["RefreshToken"] = .string(refreshToken) }
        result["TokenType"] = "Bearer"
        return result
    }
}
