internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// MFA_SETUP: sets up codes by message if an address is given, otherwise an authenticator app.
    func setUpSecondFactor(_ answer: ChallengeAnswer) async throws -> JSONObject {
        if let address = try answer.responses.optional("EMAIL") {
            guard EmailAddress.isPlausible(address) else {
                throw PoolError.invalidParameter("Invalid email address format.")
            }
            return try await sendSetupCode(.email, to: address, answer)
        }
        if let number = try answer.responses.optional("PHONE_NUMBER") {
            try UserAttribute.check("phone_number", number)
            return try await sendSetupCode(.sms, to: number, answer)
        }
        return try await finishTokenSetup(answer)
    }

    /// Sends the code that verifies the address and enables the method.
    private func sendSetupCode(
        _ method: SecondFactors.Method, to address: String, _ answer: ChallengeAnswer
    ) async throws -> JSONObject {
        guard methodsToSetUp.contains(method) else {
            throw PoolError.invalidParameter("\(method.rawValue) is not enabled for the user pool.")
        }
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord) in
            let (challenge, user) = try take(answer, in: database, now: now)
            let step = try secondFactorChallenge(
                method, of: user, settingUp: address, SignInAttempt(challenge), in: database, now: now)
            return (step, user)
        }
        return try self.answer(step, user)
    }

    /// Enables the method that the challenge sets up.
    ///
    /// - Returns: false if the challenge is not part of a set-up.
    func finishSetup(_ challenge: ChallengeRecord, _ user: inout UserRecord) throws -> Bool {
        guard let address = challenge.data["sets_up"]?.stringValue,
            let method = SecondFactors.Method(rawValue: challenge.name)
        else { return false }
        if method == .email {
            (user.email, user.isEmailVerified) = (address, true)
        } else {
            user.attributes["phone_number"] = .string(address)
            user.isPhoneVerified = true
        }
        user.secondFactors.set(method, isEnabled: true, isPreferred: true)
        return true
    }
}
