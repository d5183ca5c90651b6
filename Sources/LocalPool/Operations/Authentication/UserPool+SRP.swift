internal import Cryptography
internal import Encoding
internal import Store

extension UserPool {
    /// USER_SRP_AUTH: the challenge to prove the password. If the pool hides the existence of users, an unknown user
    /// gets one as well, with a constant salt and name.
    func startSRP(_ parameters: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        let username = try parameters.parameter("USERNAME", maximum: 128)
        let publicValue = try Self.publicValue(parameters)
        try client.checkSecretHash(try parameters.optional("SECRET_HASH"), username: username)
        let user = try await store.read { try UserRecord.find(username, in: $0) }
        guard user != nil || configuration.preventsUserExistenceErrors else { throw PoolError.userNotFound }
        try runPreAuthentication(user, named: username)
        let pretence = Pretence(username: user?.sub ?? username.lowercased(), key: pretenceKey)
        let name = user?.username ?? pretendedName(username, pretence)
        let attempt = SignInAttempt(
            clientID: client.clientID, deviceKey: try parameters.optional("DEVICE_KEY"))
        var answer = try await srpChallenge(
            "PASSWORD_VERIFIER", user?.credentials.srp ?? pretence.credentials, publicValue, sub: user?.sub, attempt)
        answer["USER_ID_FOR_SRP"] = .string(name)
        answer["USERNAME"] = .string(name)
        return ["ChallengeName": "PASSWORD_VERIFIER", "ChallengeParameters": .object(answer)]
    }

    /// The simulated real name of an unknown user: the entered name in a pool whose users choose names, unless it is an
    /// alias.
    func pretendedName(_ typed: String, _ pretence: Pretence) -> String {
        guard configuration.naming.hasUsernames else { return pretence.sub }
        do throws(PoolError) {
            _ = try configuration.naming.attribute(named: typed)
            return typed
        } catch {
            return pretence.sub
        }
    }

    /// PASSWORD_VERIFIER: verifies the proof. It has no session; the secret block identifies the exchange.
    func verifyPassword(_ responses: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        let username = try responses.parameter("USERNAME", maximum: 128)
        try client.checkSecretHash(try responses.optional("SECRET_HASH"), username: username)
        let proof = try SRPProof(responses)
        let challenge = try await take(proof, "PASSWORD_VERIFIER", client)
        guard let user = try await user(of: challenge, named: username) else { throw PoolError.badCredentials }
        try checkBeforeProof(user)
        let identity = SRPIdentity(poolID: configuration.poolID, userID: user.username)
        guard proof.isRight(for: challenge, identity) else { throw try await failure(of: user) }
        var attempt = SignInAttempt(challenge)
        attempt.deviceKey = try responses.optional("DEVICE_KEY") ?? attempt.deviceKey
        return try await proceed(try await admit(user), attempt)
    }

    /// The parameters of a challenge to prove a secret: `SALT`, `SRP_B` and `SECRET_BLOCK`.
    func srpChallenge(
        _ name: String, _ credentials: UserRecord.SRPCredentials, _ publicValue: SRPNumber, sub: String?,
        _ attempt: SignInAttempt
    ) async throws -> JSONObject {
        let server = try SRPServer(verifier: credentials.verifier, random: random(32))
        let key: [UInt8]
        do {
            key = try server.sessionKey(clientPublicValue: publicValue)
        } catch .calculation(let error) {
            throw error
        } catch {
            throw PoolError.invalidParameter("Invalid SRP_A")
        }
        let block = Base64.encode(random(700))
        var data = attempt.data
        data["key"] = .string(Hexadecimal.encode(key))
        let challenge = ChallengeRecord(
            id: ChallengeRecord.id(of: block), sub: sub, clientID: attempt.clientID, name: name, data: data,
            expires: clock() + configuration.lifetimes.session)
        try await store.write { try challenge.insert(in: $0) }
        return [
            "SALT": .string(credentials.salt.hex), "SECRET_BLOCK": .string(block),
            "SRP_B": .string(server.publicValue.hex),
        ]
    }

    /// Takes the exchange that the proof belongs to.
    func take(_ proof: SRPProof, _ name: String, _ client: ClientAuthentication) async throws -> ChallengeRecord {
        let now = clock()
        return try await store.write { database in
            let challenge = try ChallengeRecord.take(proof.secretBlock, in: database, now: now)
            guard challenge.name == name, challenge.clientID == client.clientID else { throw PoolError.invalidSession }
            return challenge
        }
    }

    /// The challenge's user; nil if `username` is not one of the user's names.
    func user(of challenge: ChallengeRecord, named username: String) async throws -> UserRecord? {
        let user = try await store.read { try UserRecord.find(username, in: $0) }
        guard let user, user.sub == challenge.sub else { return nil }
        return user
    }

    static func publicValue(_ parameters: RequestFields) throws(PoolError) -> SRPNumber {
        guard let number = SRPNumber(hex: try parameters.parameter("SRP_A")) else {
            throw .invalidParameter("Invalid SRP_A")
        }
        return number
    }
}

/// A client's proof of a password or of a device's secret.
struct SRPProof: Sendable {
    let secretBlock: String
    private let blockBytes: [UInt8]
    private let signature: [UInt8]
    private let timestamp: String

    init(_ responses: RequestFields) throws(PoolError) {
        secretBlock = try responses.parameter("PASSWORD_CLAIM_SECRET_BLOCK")
        let signature = try responses.parameter("PASSWORD_CLAIM_SIGNATURE")
        timestamp = try responses.parameter("TIMESTAMP")
        guard SRPTimestamp.isWellFormed(timestamp) else {
            throw .invalidParameter("TIMESTAMP format should be EEE MMM d HH:mm:ss z yyyy in english")
        }
        guard let blockBytes = Base64.decode(secretBlock.utf8), let bytes = Base64.decode(signature.utf8) else {
            throw .badCredentials
        }
        self.blockBytes = blockBytes
        self.signature = bytes
    }

    func isRight(for challenge: ChallengeRecord, _ identity: SRPIdentity) -> Bool {
        guard let key = challenge.data["key"]?.stringValue.flatMap({ Hexadecimal.decode($0) }) else { return false }
        return SRPServer.accepts(
            signature, identity: identity, sessionKey: key, secretBlock: blockBytes, timestamp: timestamp)
    }
}
