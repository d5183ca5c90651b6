internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// WEB_AUTHN: the options for the authenticator. An unknown user seems to have one passkey.
    func askForPasskey(_ choice: Choice) async throws -> JSONObject {
        guard let webAuthn else { throw PoolError.passkeysNotConfigured }
        var ids: [String]
        if let user = choice.user {
            ids = try await store.read { try PasskeyRecord.all(of: user.sub, in: $0).map(\.id) }
        } else {
            ids = [Base64URL.encode(random(32))]
        }
        let challenge = Base64URL.encode(random(16))
        let options = RelyingParty(configuration: webAuthn).requestOptions(challenge: challenge, allowing: ids)
        return try await ask(
            "WEB_AUTHN", ["CREDENTIAL_REQUEST_OPTIONS": .string(JSON.object(options).text)], choice,
            adding: ["challenge": .string(challenge)])
    }

    /// Verifies the authenticator's response. The session is valid once, whatever the result.
    func verifyPasskey(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let text = try answer.responses.parameter("CREDENTIAL")
        guard let credential = (try? JSON.parse(Array(text.utf8)))?.objectValue else {
            throw PoolError.invalidParameter("Invalid CREDENTIAL.")
        }
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord?) in
            let (challenge, user) = try takeStep(answer, in: database, now: now)
            guard let user, try isRight(credential, for: challenge, of: user, in: database) else {
                return (.refusal(.badCredentials), nil)
            }
            var attempt = SignInAttempt(challenge)
            attempt.hasSecondFactor = true
            return (try nextStep(user, attempt, in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    private func isRight(
        _ credential: JSONObject, for challenge: ChallengeRecord, of user: UserRecord, in database: Database
    ) throws -> Bool {
        guard let webAuthn,
            let expected = challenge.data["challenge"]?.stringValue,
            let id = credential["id"]?.stringValue?.prefix(while: { $0 != "=" }),
            let passkey = try PasskeyRecord.find(String(id), of: user.sub, in: database),
            let count = try? RelyingParty(configuration: webAuthn)
                .verify(credential, challenge: expected, passkey: passkey)
        else { return false }
        try passkey.used(count: count, in: database)
        return true
    }

    /// Takes the step that is answered, if it belongs to this client. The user is nil if their existence is simulated.
    func takeStep(
        _ answer: ChallengeAnswer, in database: Database, now: Int64
    ) throws -> (challenge: ChallengeRecord, user: UserRecord?) {
        let challenge = try ChallengeRecord.take(answer.session, in: database, now: now)
        guard challenge.name == answer.name, challenge.clientID == answer.clientID else {
            throw PoolError.invalidSession
        }
        guard let sub = challenge.sub else { return (challenge, nil) }
        guard let user = try UserRecord.find(answer.username, in: database), user.sub == sub else {
            throw PoolError.invalidSession
        }
        guard user.isEnabled else { throw PoolError.userDisabled }
        return (challenge, user)
    }
}
