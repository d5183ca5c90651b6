internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    func newPasswordChallenge(
        _ user: UserRecord, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep {
        var attributes = user.attributes
        attributes["email_verified"] = user.isEmailVerified ? "true" : "false"
        attributes["email"] = .string(user.email)
        return try challenge(
            "NEW_PASSWORD_REQUIRED",
            ["requiredAttributes": "[]", "userAttributes": .string(JSON.object(attributes).text)], of: user, attempt,
            in: database, now: now)
    }

    /// NEW_PASSWORD_REQUIRED: the user's own password in place of the administrator's.
    func setNewPassword(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let password = try answer.responses.parameter("NEW_PASSWORD", maximum: 256)
        let attributes = try newAttributes(answer.responses)
        try policy.check(password)
        guard let sub = try await store.read({ try UserRecord.find(answer.username, in: $0)?.sub }) else {
            throw PoolError.invalidSession
        }
        let credentials = try await credentials(password, of: sub)
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord) in
            var (challenge, user) = try take(answer, in: database, now: now)
            user.credentials = credentials
            user.status = .confirmed
            user.passwordExpires = nil
            for (name, value) in attributes { user.attributes[name] = value }
            try user.update(in: database, now: now)
            return (try nextStep(user, SignInAttempt(challenge), in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    /// The attributes among the responses: `userAttributes.<name>`.
    private func newAttributes(_ responses: RequestFields) throws(PoolError) -> JSONObject {
        var result = JSONObject()
        for (key, value) in responses.object where key.hasPrefix("userAttributes.") {
            let name = String(key.dropFirst("userAttributes.".count))
            try UserAttribute.check(name, value.stringValue ?? "")
            guard name != "email" else { throw .invalidParameter("Cannot modify an already provided email") }
            result[name] = value
        }
        return result
    }
}
