internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// The challenge for a remembered device, which replaces the second factor. Nil without one.
    ///
    /// - Throws: ResourceNotFoundException for a device key that does not belong to the user.
    func deviceChallenge(
        _ user: UserRecord, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep? {
        guard configuration.devices != .off, let key = attempt.deviceKey else { return nil }
        guard let device = try DeviceRecord.find(key, of: user.sub, in: database) else { throw PoolError.noDevice }
        guard device.isRemembered, device.isConfirmed else { return nil }
        return try challenge("DEVICE_SRP_AUTH", [:], of: user, attempt, in: database, now: now)
    }

    /// DEVICE_SRP_AUTH: the challenge to prove the device's secret. Some clients return the session, others don't; the
    /// password was verified before in any case.
    func startDeviceSRP(
        _ responses: RequestFields, _ client: ClientAuthentication, session: String?
    ) async throws -> JSONObject {
        let username = try responses.parameter("USERNAME", maximum: 128)
        let key = try responses.parameter("DEVICE_KEY")
        let publicValue = try Self.publicValue(responses)
        try client.checkSecretHash(try responses.optional("SECRET_HASH"), username: username)
        let now = clock()
        let (challenge, device, user) = try await store.write { database in
            guard let user = try UserRecord.find(username, in: database) else { throw PoolError.invalidSession }
            let id =
                try session.map(ChallengeRecord.id)
                ?? ChallengeRecord.open("DEVICE_SRP_AUTH", of: user.sub, in: database, now: now)
            guard let id else { throw PoolError.invalidSession }
            let challenge = try ChallengeRecord.take(id: id, in: database, now: now)
            guard challenge.name == "DEVICE_SRP_AUTH", challenge.sub == user.sub,
                challenge.clientID == client.clientID, challenge.data["device_key"]?.stringValue == key,
                let device = try DeviceRecord.find(key, of: user.sub, in: database)
            else { throw PoolError.invalidSession }
            return (challenge, device, user)
        }
        guard let credentials = device.credentials else { throw PoolError.noDevice }
        var parameters = try await srpChallenge(
            "DEVICE_PASSWORD_VERIFIER", credentials, publicValue, sub: user.sub, SignInAttempt(challenge))
        parameters["DEVICE_KEY"] = .string(key)
        parameters["USERNAME"] = .string(user.username)
        return ["ChallengeName": "DEVICE_PASSWORD_VERIFIER", "ChallengeParameters": .object(parameters)]
    }

    /// DEVICE_PASSWORD_VERIFIER: verifies the proof.
    func verifyDevice(_ responses: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        let username = try responses.parameter("USERNAME", maximum: 128)
        let key = try responses.parameter("DEVICE_KEY")
        try client.checkSecretHash(try responses.optional("SECRET_HASH"), username: username)
        let proof = try SRPProof(responses)
        let challenge = try await take(proof, "DEVICE_PASSWORD_VERIFIER", client)
        guard let user = try await user(of: challenge, named: username),
            challenge.data["device_key"]?.stringValue == key
        else { throw PoolError.badCredentials }
        guard user.isEnabled else { throw PoolError.userDisabled }
        guard var device = try await store.read({ try DeviceRecord.find(key, of: user.sub, in: $0) }) else {
            throw PoolError.noDevice
        }
        let identity = SRPIdentity(deviceGroupKey: device.groupKey, deviceKey: device.key)
        guard proof.isRight(for: challenge, identity) else { throw PoolError.badCredentials }
        device.authenticatedAt = clock()
        let seen = device
        try await store.write { try seen.save(in: $0) }
        var attempt = SignInAttempt(challenge)
        attempt.hasSecondFactor = true
        return try await proceed(user, attempt)
    }
}
