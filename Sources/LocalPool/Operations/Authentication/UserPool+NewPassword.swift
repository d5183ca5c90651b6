internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    func newPasswordChallenge(
        _ user: UserRecord, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep {
        var attributes = user.attributes
        attributes["email_verified"] = user.isEmailVerified ? "true" : "false"
        if !user.email.isEmpty { attributes["email"] = .string(user.email) }
        let missing = configuration.schema.required.filter { user.value(of: $0) == nil }
        return try challenge(
            "NEW_PASSWORD_REQUIRED",
            [
                "requiredAttributes": .string(
                    JSON.array(missing.map { .string(Self.attributePrefix + $0) }).text),
                "userAttributes": .string(JSON.object(attributes).text),
            ], of: user, attempt, in: database, now: now)
    }

    /// NEW_PASSWORD_REQUIRED: replaces the administrator's password with the user's own.
    func setNewPassword(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let password = try answer.responses.parameter("NEW_PASSWORD", maximum: 256)
        let attributes = try newAttributes(answer.responses)
        try policy.check(password)
        guard let named = try await store.read({ try UserRecord.find(answer.username, in: $0) }) else {
            throw PoolError.invalidSession
        }
        try check(attributes, of: named)
        let credentials = try await credentials(password, of: named.username)
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord) in
            var (challenge, user) = try take(answer, in: database, now: now)
            // Another session may have set the password already.
            guard user.status == .mustChangePassword else { throw PoolError.invalidSession }
            user.credentials = credentials
            user.status = .confirmed
            user.passwordExpires = nil
            for (name, value) in attributes { user.attributes[name] = value }
            try user.update(in: database, now: now)
            return (try nextStep(user, SignInAttempt(challenge), in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    private static let attributePrefix = "userAttributes."

    /// - Throws: InvalidParameterException with the required attributes that the user would still lack.
    private func check(_ attributes: JSONObject, of user: UserRecord) throws(PoolError) {
        let missing = configuration.schema.required.filter { name in
            attributes[name]?.stringValue?.isEmpty != false && user.value(of: name) == nil
        }
        guard missing.isEmpty else {
            throw .invalidParameter(
                "Invalid attributes given, \(missing.joined(separator: ", ")) \(missing.count > 1 ? "are" : "is") missing"
            )
        }
    }

    /// The attributes among the responses: `userAttributes.<name>`.
    private func newAttributes(_ responses: RequestFields) throws(PoolError) -> JSONObject {
        var result = JSONObject()
        for (key, value) in responses.object where key.hasPrefix(Self.attributePrefix) {
            let name = String(key.dropFirst(Self.attributePrefix.count))
            try configuration.schema.check(name, value.stringValue ?? "", isNew: true)
            guard name != "email" else { throw .invalidParameter("Cannot modify an already provided email") }
            result[name] = value
        }
        return result
    }
}
