internal import Cryptography
internal import Encoding
internal import GRDB
internal import Store

// USER_AUTH: users sign in with one of several first factors.
extension UserPool {
    /// The names that PREFERRED_CHALLENGE and SELECT_CHALLENGE may have.
    private static let choices = ["PASSWORD", "PASSWORD_SRP", "EMAIL_OTP", "SMS_OTP", "WEB_AUTHN"]

    /// The preferred factor's challenge, or the list of the user's factors.
    ///
    /// An unknown user also gets a challenge, of a random kind, as Cognito documents.
    func startChoice(_ parameters: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        let username = try parameters.parameter("USERNAME", maximum: 128)
        let preferred = try parameters.optional("PREFERRED_CHALLENGE")
        try client.checkSecretHash(try parameters.optional("SECRET_HASH"), username: username)
        guard preferred.map(Self.choices.contains) ?? true else {
            throw PoolError.invalidParameter("Invalid PREFERRED_CHALLENGE.")
        }
        let user = try await store.read { try UserRecord.find(username, in: $0) }
        guard user != nil || configuration.preventsUserExistenceErrors else { throw PoolError.userNotFound }
        if let user { try checkBeforeChoice(user) }
        let choice = Choice(
            user: user, username: username, available: try await available(to: user),
            attempt: SignInAttempt(clientID: client.clientID, deviceKey: try parameters.optional("DEVICE_KEY")))
        if let preferred, choice.available.contains(preferred) {
            return try await begin(preferred, choice, parameters, client)
        }
        if choice.available.count == 1, user == nil || preferred == nil {
            return try await begin(choice.available[0], choice, parameters, client)
        }
        return try await ask("SELECT_CHALLENGE", [:], choice)
    }

    /// SELECT_CHALLENGE: the chosen factor's challenge. A password can accompany the choice.
    func selectFactor(_ answer: ChallengeAnswer, _ client: ClientAuthentication) async throws -> JSONObject {
        let name = try answer.responses.parameter("ANSWER")
        let now = clock()
        let (challenge, user) = try await store.write { database in
            let (challenge, user) = try takeStep(answer, in: database, now: now)
            if challenge.data["available"]?.arrayValue?.contains(.string(name)) != true {
                try challenge.giveBack(in: database)
            }
            return (challenge, user)
        }
        let available = (challenge.data["available"] ?? .null).strings
        guard available.contains(name) else { throw PoolError.invalidParameter("Invalid challenge selected.") }
        let choice = Choice(
            user: user, username: answer.username, available: available, attempt: SignInAttempt(challenge))
        return try await begin(name, choice, answer.responses, client)
    }

    /// PASSWORD: signs in with a password as the answer to the challenge.
    func answerPassword(_ answer: ChallengeAnswer, _ client: ClientAuthentication) async throws -> JSONObject {
        let now = clock()
        _ = try await store.write { try takeStep(answer, in: $0, now: now) }
        return try await signIn(answer.responses, client)
    }

    /// PASSWORD_SRP: starts SRP with the client's public value.
    func answerPasswordSRP(_ answer: ChallengeAnswer, _ client: ClientAuthentication) async throws -> JSONObject {
        let now = clock()
        _ = try await store.write { try takeStep(answer, in: $0, now: now) }
        return try await startSRP(answer.responses, client)
    }

    /// A sign-in for which a factor was chosen.
    struct Choice: Sendable {
        /// Nil for an unknown user whose existence is simulated.
        var user: UserRecord?
        var username: String
        var available: [String]
        var attempt: SignInAttempt
    }

    private func begin(
        _ name: String, _ choice: Choice, _ parameters: RequestFields, _ client: ClientAuthentication
    ) async throws -> JSONObject {
        switch name {
        case "PASSWORD" where parameters.object["PASSWORD"] != nil: return try await signIn(parameters, client)
        case "PASSWORD_SRP" where parameters.object["SRP_A"] != nil: return try await startSRP(parameters, client)
        case "EMAIL_OTP", "SMS_OTP": return try await sendOneTimeCode(name, choice)
        case "WEB_AUTHN": return try await askForPasskey(choice)
        default: return try await ask(name, [:], choice)
        }
    }

    /// A challenge of a first factor. Its parameters do not reveal the user's real name.
    func ask(
        _ name: String, _ parameters: JSONObject, _ choice: Choice, adding data: JSONObject = [:],
        sending message: Message? = nil
    ) async throws -> JSONObject {
        let (token, now) = (newSessionToken(), clock())
        let available = JSON.array(choice.available.map(JSON.string))
        var stored = choice.attempt.data
        stored["available"] = available
        for (name, value) in data { stored[name] = value }
        let challenge = ChallengeRecord(
            id: ChallengeRecord.id(of: token), sub: choice.user?.sub, clientID: choice.attempt.clientID, name: name,
            data: stored, expires: now + configuration.lifetimes.session)
        try await store.write { database in
            try challenge.insert(in: database)
            if let message { try deliver(message, in: database, now: now) }
        }
        return [
            "ChallengeName": .string(name), "ChallengeParameters": .object(parameters), "Session": .string(token),
            "AvailableChallenges": available,
        ]
    }

    private func sendOneTimeCode(_ name: String, _ choice: Choice) async throws -> JSONObject {
        let medium: Message.Medium = name == "EMAIL_OTP" ? .email : .sms
        let code = ConfirmationCode.make(from: random(8))
        var message = Message(medium: medium, address: "", purpose: "sign-in", code: code)
        if let user = choice.user {
            message.address = medium == .email ? user.email : user.phoneNumber ?? ""
        } else {
            message.address = pretendedAddress(of: choice.username, medium)
        }
        return try await ask(
            name,
            [
                "CODE_DELIVERY_DELIVERY_MEDIUM": .string(medium.rawValue),
                "CODE_DELIVERY_DESTINATION": .string(message.maskedAddress),
            ], choice, adding: ["code": .string(code)], sending: choice.user == nil ? nil : message)
    }

    /// Throws the errors that do not depend on the proof.
    private func checkBeforeChoice(_ user: UserRecord) throws(PoolError) {
        try checkBeforeProof(user)
        guard user.isEnabled else { throw .userDisabled }
        guard user.isConfirmed else { throw .userNotConfirmed }
    }

    private func available(to user: UserRecord?) async throws -> [String] {
        let allowed = LocalPoolConfiguration.FirstFactor.allCases.filter(
            configuration.passwordless.firstFactors.contains)
        guard let user else {
            let picked = allowed.isEmpty ? nil : allowed[Int(random(1)[0]) % allowed.count]
            return Self.names(of: [picked].compactMap { $0 })
        }
        let factors = try await factors(of: user, among: allowed)
        guard !factors.isEmpty else { throw PoolError.badCredentials }
        return Self.names(of: factors)
    }

    /// The factors that the user can use. A user who needs a second factor has the password only.
    func factors(
        of user: UserRecord, among allowed: [LocalPoolConfiguration.FirstFactor]
    ) async throws -> [LocalPoolConfiguration.FirstFactor] {
        guard mfa.mode == .off || mfa.mode == .optional && usableMethods(of: user).isEmpty else {
            return allowed.filter { $0 == .password }
        }
        let hasPasskey = try await store.read { try !PasskeyRecord.all(of: user.sub, in: $0).isEmpty }
        return allowed.filter { factor in
            switch factor {
            case .password: true
            case .email: user.isEmailVerified
            case .sms: user.phoneNumber != nil && user.isPhoneVerified
            case .passkey: hasPasskey
            }
        }
    }

    private static func names(of factors: [LocalPoolConfiguration.FirstFactor]) -> [String] {
        factors.flatMap { $0 == .password ? ["PASSWORD", "PASSWORD_SRP"] : [$0.rawValue] }
    }
}
