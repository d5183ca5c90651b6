internal import Cryptography
package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// AssociateSoftwareToken: creates a key for an authenticator app, for the access token's user or the session's
    /// sign-in.
    package func associateSoftwareToken(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let key = Secret(random(32))
        let secretCode = JSON.string(Base32.encode(key.expose()))
        guard let session = try fields.optional("Session") else {
            let (user, _) = try await signedIn(fields)
            try await change(user.sub) { $0.secondFactors.pendingSoftwareTokenKey = key }
            return ["SecretCode": secretCode]
        }
        let (now, next) = (clock(), newSessionToken())
        try await store.write { database in
            var (challenge, user) = try takeSetup(session, in: database, now: now)
            user.secondFactors.pendingSoftwareTokenKey = key
            try user.secondFactors.update(of: user.sub, in: database)
            challenge.id = ChallengeRecord.id(of: next)
            try challenge.insert(in: database)
        }
        return ["SecretCode": secretCode, "Session": .string(next)]
    }

    /// VerifySoftwareToken: verifies the app's first code, which shows that it has the key.
    package func verifySoftwareToken(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let code = try fields.required("UserCode", maximum: 6)
        let now = clock()
        guard let session = try fields.optional("Session") else {
            let (user, _) = try await signedIn(fields)
            try await change(user.sub) { try Self.verify(code, &$0, now: now) }
            return ["Status": "SUCCESS"]
        }
        let next = newSessionToken()
        let refusal = try await store.write { database -> PoolError? in
            var (challenge, user) = try takeSetup(session, in: database, now: now)
            do throws(PoolError) {
                try Self.verify(code, &user, now: now)
            } catch {
                try challenge.giveBack(in: database)
                return error
            }
            try user.secondFactors.update(of: user.sub, in: database)
            challenge.id = ChallengeRecord.id(of: next)
            challenge.data["is_verified"] = true
            try challenge.insert(in: database)
            return nil
        }
        if let refusal { throw refusal }
        return ["Status": "SUCCESS", "Session": .string(next)]
    }

    /// MFA_SETUP, with the session from VerifySoftwareToken.
    func finishTokenSetup(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord) in
            var (challenge, user) = try take(answer, in: database, now: now)
            guard challenge.data["is_verified"] == true else {
                try challenge.giveBack(in: database)
                return (.refusal(.softwareTokenNotFound), user)
            }
            user.secondFactors.set(.softwareToken, isEnabled: true, isPreferred: true)
            try user.secondFactors.update(of: user.sub, in: database)
            var attempt = SignInAttempt(challenge)
            attempt.hasSecondFactor = true
            return (try nextStep(user, attempt, in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    private func takeSetup(
        _ session: String, in database: Database, now: Int64
    ) throws -> (ChallengeRecord, UserRecord) {
        let challenge = try ChallengeRecord.take(session, in: database, now: now)
        guard challenge.name == "MFA_SETUP", let sub = challenge.sub,
            let user = try UserRecord.find(sub: sub, in: database)
        else { throw PoolError.invalidSession }
        return (challenge, user)
    }

    private static func verify(_ code: String, _ user: inout UserRecord, now: Int64) throws(PoolError) {
        guard let key = user.secondFactors.pendingSoftwareTokenKey else { throw .softwareTokenNotFound }
        guard let count = OneTimePassword.match(code, key: key, at: now) else { throw .softwareTokenNotEnabled }
        user.secondFactors.softwareTokenKey = key
        user.secondFactors.pendingSoftwareTokenKey = nil
        user.secondFactors.lastCount = Int64(clamping: count)
    }
}
