internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// The challenge for the user's second factor; nil if none is required.
    func secondFactorChallenge(
        _ user: UserRecord, _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep? {
        guard mfa.mode != .off else { return nil }
        let usable = usableMethods(of: user)
        let method = user.secondFactors.preferred.flatMap { usable.contains($0) ? $0 : nil }
        if let method = method ?? (usable.count == 1 ? usable.first : nil) {
            return try secondFactorChallenge(method, of: user, attempt, in: database, now: now)
        }
        if usable.count > 1 {
            return try challenge(
                "SELECT_MFA_TYPE", ["MFAS_CAN_CHOOSE": Self.names(usable)], of: user, attempt, in: database, now: now)
        }
        guard mfa.mode == .required else { return nil }
        return try challenge(
            "MFA_SETUP", ["MFAS_CAN_SETUP": Self.names(methodsToSetUp)], of: user, attempt, in: database, now: now)
    }

    /// The second factors that the pool supports.
    var methodsToSetUp: [SecondFactors.Method] {
        SecondFactors.Method.allCases.filter { mfa.methods.contains($0.rawValue) }
    }

    /// Verifies the code of a second or first factor. After a wrong code, the session allows a few more attempts.
    func verifyCode(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let code = try answer.responses.parameter("\(answer.name)_CODE")
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord?) in
            let (challenge, known) = try takeStep(answer, in: database, now: now)
            guard var user = known else {
                try challenge.giveBack(in: database)
                return (.refusal(.codeMismatch), nil)
            }
            do throws(PoolError) {
                try check(code, challenge, &user, now: now)
            } catch {
                try challenge.giveBack(in: database)
                return (.refusal(error), user)
            }
            if try finishSetup(challenge, &user) { try user.update(in: database, now: now) }
            try user.secondFactors.update(of: user.sub, in: database)
            var attempt = SignInAttempt(challenge)
            attempt.hasSecondFactor = true
            return (try nextStep(user, attempt, in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    /// SELECT_MFA_TYPE: the challenge of the chosen method. Cognito's documentation uses `EMAIL_MFA` for EMAIL_OTP.
    func selectSecondFactor(_ answer: ChallengeAnswer) async throws -> JSONObject {
        let choice = try answer.responses.parameter("ANSWER")
        let now = clock()
        let (step, user) = try await store.write { database -> (SignInStep, UserRecord) in
            let (challenge, user) = try take(answer, in: database, now: now)
            let method = SecondFactors.Method(rawValue: choice == "EMAIL_MFA" ? "EMAIL_OTP" : choice)
            guard let method, usableMethods(of: user).contains(method) else {
                try challenge.giveBack(in: database)
                return (.refusal(.invalidParameter("Invalid MFA type selected.")), user)
            }
            let attempt = SignInAttempt(challenge)
            return (try secondFactorChallenge(method, of: user, attempt, in: database, now: now), user)
        }
        return try self.answer(step, user)
    }

    private func check(
        _ code: String, _ challenge: ChallengeRecord, _ user: inout UserRecord, now: Int64
    ) throws(PoolError) {
        guard challenge.name != SecondFactors.Method.softwareToken.rawValue else {
            return try user.secondFactors.accept(code, at: now)
        }
        let expected = challenge.data["code"]?.stringValue ?? ""
        guard !expected.isEmpty, constantTimeEquals(Array(code.utf8), Array(expected.utf8)) else { throw .codeMismatch }
    }

    /// The challenge of one method.
    ///
    /// - Parameter address: the address that the code verifies, for a method that is being set up.
    func secondFactorChallenge(
        _ method: SecondFactors.Method, of user: UserRecord, settingUp address: String? = nil,
        _ attempt: SignInAttempt, in database: Database, now: Int64
    ) throws -> SignInStep {
        guard method != .softwareToken else {
            return try challenge(method.rawValue, [:], of: user, attempt, in: database, now: now)
        }
        let code = ConfirmationCode.make(from: random(8))
        let message = Message(
            medium: method == .email ? .email : .sms,
            address: address ?? (method == .email ? user.email : user.phoneNumber ?? ""), purpose: "sign-in",
            code: code)
        try deliver(message, in: database, now: now)
        var data: JSONObject = ["code": .string(code)]
        data["sets_up"] = address.map(JSON.string)
        return try challenge(
            method.rawValue,
            [
                "CODE_DELIVERY_DELIVERY_MEDIUM": .string(message.medium.rawValue),
                "CODE_DELIVERY_DESTINATION": .string(message.maskedAddress),
            ], of: user, attempt, adding: data, in: database, now: now)
    }

    /// The methods that the user has enabled, the pool supports, and for which the user has an address or key.
    func usableMethods(of user: UserRecord) -> [SecondFactors.Method] {
        var methods = user.secondFactors.methods
        if mfa.mode == .required, methods.isEmpty { methods = [.sms] }
        return methods.filter { method in
            guard mfa.methods.contains(method.rawValue) else { return false }
            return switch method {
            case .sms: user.phoneNumber != nil
            case .softwareToken: user.secondFactors.softwareTokenKey != nil
            case .email: !user.email.isEmpty
            }
        }
    }

    /// A list of names as JSON text, the form of challenge parameters.
    private static func names(_ methods: [SecondFactors.Method]) -> JSON {
        .string(JSON.array(methods.map { .string($0.rawValue) }).text)
    }
}
