internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

// CUSTOM_AUTH. The configuration replaces the triggers that define, create and verify the challenges.
extension UserPool {
    /// The first challenge. An unknown user gets it as well if the pool hides the existence of users: Cognito calls the
    /// triggers with `userNotFound`, and the simulated ones pretend that the user exists.
    func startCustom(_ parameters: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        let username = try parameters.parameter("USERNAME", maximum: 128)
        try client.checkSecretHash(try parameters.optional("SECRET_HASH"), username: username)
        guard !configuration.passwordless.customChallenges.isEmpty else {
            throw PoolError.invalidParameter("Custom auth lambda trigger is not configured for the user pool.")
        }
        let user = try await store.read { try UserRecord.find(username, in: $0) }
        guard user != nil || configuration.preventsUserExistenceErrors else { throw PoolError.userNotFound }
        if let user {
            guard user.isEnabled else { throw PoolError.userDisabled }
            guard user.isConfirmed else { throw PoolError.userNotConfirmed }
        }
        let pretence = Pretence(username: username.lowercased(), key: pretenceKey)
        let name = user?.username ?? pretendedName(username, pretence)
        let attempt = SignInAttempt(clientID: client.clientID, deviceKey: try parameters.optional("DEVICE_KEY"))
        let now = clock()
        return try await store.write { database in
            try customChallenge(0, user?.sub, name: name, attempt, in: database, now: now)
        }
    }

    /// CUSTOM_CHALLENGE: checks the answer; a wrong one ends the sign-in.
    func answerCustom(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let given = try answer.responses.parameter("ANSWER")
        let now = clock()
        let challenges = configuration.passwordless.customChallenges
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord?) in
            let (challenge, user) = try takeStep(answer, in: database, now: now)
            let number = Int(challenge.data["number"]?.integerValue ?? 0)
            guard let user, challenges.indices.contains(number),
                constantTimeEquals(Array(given.utf8), Array(challenges[number].answer.utf8))
            else { return (.refusal(.badCredentials), nil) }
            var attempt = SignInAttempt(challenge)
            guard number + 1 == challenges.count else {
                let next = try customChallenge(
                    number + 1, user.sub, name: user.username, attempt, in: database, now: now)
                return (.challenge(next), user)
            }
            attempt.hasSecondFactor = true
            return (try nextStep(user, attempt, in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    private func customChallenge(
        _ number: Int, _ sub: String?, name: String, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> JSONObject {
        let token = newSessionToken()
        var data = attempt.data
        data["number"] = .number(JSONNumber(Int64(number)))
        try ChallengeRecord(
            id: ChallengeRecord.id(of: token), sub: sub, clientID: attempt.clientID, name: "CUSTOM_CHALLENGE",
            data: data, expires: now + configuration.lifetimes.session
        ).insert(in: database)
        let shown = configuration.passwordless.customChallenges[number].parameters.sorted { $0.key < $1.key }
        var parameters = JSONObject(shown.map { ($0.key, JSON.string($0.value)) })
        parameters["USERNAME"] = .string(name)
        return [
            "ChallengeName": "CUSTOM_CHALLENGE", "ChallengeParameters": .object(parameters),
            "Session": .string(token),
        ]
    }
}
