package import Cryptography
package import Encoding
package import Pipeline

/// Signs users in with one of Cognito's flows, up to a challenge that only the user can answer.
package struct Authenticator: Sendable {
    let client: CognitoClient
    let app: AppClient
    let flow: SignInFlow
    let now: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]

    package init(
        client: CognitoClient, app: AppClient, flow: SignInFlow, now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.client = client
        self.app = app
        self.flow = flow
        self.now = now
        self.random = random
    }

    /// The credentials and context of one sign-in.
    package struct Attempt: Sendable {
        /// The user name as typed.
        package var username: String
        package var password: Secret
        /// The device's credentials; nil if the pool does not track the device.
        package var device: DeviceCredentials?
        /// The user's IP address for Cognito (`UserContextData`).
        var context: JSON?
        /// `ClientMetadata`, for the pool's triggers.
        package var metadata: JSON?

        package init(
            username: String, password: Secret, device: DeviceCredentials? = nil, context: JSON? = nil,
            metadata: JSON? = nil
        ) {
            self.username = username
            self.password = password
            self.device = device
            self.context = context
            self.metadata = metadata
        }
    }

    /// Returns whether the account with this Cognito-internal user name is locked, so that every password fails.
    package typealias ClosedCheck = (_ username: String) async -> Bool

    /// The response to a challenge.
    package struct Response: Sendable {
        var challenge: String
        /// The session of Cognito's challenge.
        package var session: String?
        /// The name that `SECRET_HASH` is computed over.
        package var username: String
        /// The members other than `USERNAME` and `SECRET_HASH`.
        package var answers: JSONObject
        package var device: DeviceCredentials?
        var context: JSON?
        /// `ClientMetadata`, for the pool's triggers.
        var metadata: JSON?

        package init(
            challenge: String, session: String? = nil, username: String, answers: JSONObject,
            device: DeviceCredentials? = nil, context: JSON? = nil, metadata: JSON? = nil
        ) {
            self.challenge = challenge
            self.session = session
            self.username = username
            self.answers = answers
            self.device = device
            self.context = context
            self.metadata = metadata
        }
    }

    /// Begins a sign-in. A device that the pool no longer knows is treated as a new one.
    ///
    /// - Parameters:
    ///   - attempt: afterwards without the device, if the pool no longer knows it.
    ///   - factor: the kind of password in a choice of first factors; nil for a sign-in without a choice.
    ///   - isClosed: called in SRP flows, after Cognito has named the user and before the password is tried.
    package func begin(
        _ attempt: inout Attempt, as factor: SignInFactor? = nil, isClosed: ClosedCheck = { _ in false }
    ) async throws(CognitoError) -> AuthenticationAnswer {
        do {
            return try await start(attempt, factor, isClosed)
        } catch {
            try Self.forget(&attempt.device, after: error)
        }
        return try await start(attempt, factor, isClosed)
    }

    /// Removes a device that the pool no longer knows, so that the call can be repeated without it.
    ///
    /// - Throws: any other error.
    static func forget(_ device: inout DeviceCredentials?, after error: CognitoError) throws(CognitoError) {
        guard error.kind == .deviceUnknown, device != nil else { throw error }
        device = nil
    }

    private func start(
        _ attempt: Attempt, _ factor: SignInFactor?, _ isClosed: ClosedCheck
    ) async throws(CognitoError) -> AuthenticationAnswer {
        let answer: AuthenticationAnswer
        switch (factor, flow) {
        case (.passwordProof, _): answer = try await startWithChosenProof(attempt, isClosed)
        case (_, .password): answer = try await startWithPassword(attempt, flow: "USER_PASSWORD_AUTH")
        case (_, .admin): answer = try await startWithPassword(attempt, flow: "ADMIN_USER_PASSWORD_AUTH")
        case (_, .srp): answer = try await startWithProof(attempt, isClosed)
        }
        return try await proceed(
            answer, username: attempt.username, device: attempt.device, context: attempt.context,
            metadata: attempt.metadata)
    }

    private func startWithPassword(_ attempt: Attempt, flow: String) async throws(CognitoError) -> AuthenticationAnswer
    {
        var parameters: JSONObject = [
            "USERNAME": .string(attempt.username), "PASSWORD": .string(attempt.password.exposeText()),
        ]
        parameters["SECRET_HASH"] = app.secretHash(attempt.username)
        parameters["DEVICE_KEY"] = attempt.device.map { .string($0.key) }
        return try await initiate(flow, parameters, attempt)
    }

    func initiate(
        _ flow: String, _ parameters: JSONObject, _ attempt: Attempt
    ) async throws(CognitoError) -> AuthenticationAnswer {
        var input: JSONObject = [
            "AuthFlow": .string(flow), "ClientId": .string(app.clientID), "AuthParameters": .object(parameters),
        ]
        if self.flow == .admin {
            input["UserPoolId"] = .string(app.poolID)
        } else {
            // Admin operations take the address in another form, which includes headers that the gateway does not
            // forward.
            input["UserContextData"] = attempt.context
        }
        input["ClientMetadata"] = attempt.metadata
        return try Self.answer(await client.call(self.flow == .admin ? .adminInitiateAuth : .initiateAuth, input))
    }

    /// Answers a challenge, and the device challenge that may follow it.
    ///
    /// - Parameter response: afterwards without the device, if the pool no longer knows it.
    package func respond(_ response: inout Response) async throws(CognitoError) -> AuthenticationAnswer {
        let answer = try await sendWithKnownDevice(&response)
        return try await proceed(
            answer, username: response.username, device: response.device, context: response.context,
            metadata: response.metadata)
    }

    private func sendWithKnownDevice(_ response: inout Response) async throws(CognitoError) -> AuthenticationAnswer {
        do {
            return try await send(response)
        } catch {
            try Self.forget(&response.device, after: error)
        }
        return try await send(response)
    }

    /// Answers a challenge.
    func send(_ response: Response) async throws(CognitoError) -> AuthenticationAnswer {
        var answers = response.answers
        answers["USERNAME"] = .string(response.username)
        answers["SECRET_HASH"] = app.secretHash(response.username)
        if answers["DEVICE_KEY"] == nil { answers["DEVICE_KEY"] = response.device.map { .string($0.key) } }
        var input: JSONObject = [
            "ChallengeName": .string(response.challenge), "ClientId": .string(app.clientID),
            "ChallengeResponses": .object(answers),
        ]
        input["Session"] = response.session.map(JSON.string)
        if flow == .admin {
            input["UserPoolId"] = .string(app.poolID)
        } else {
            input["UserContextData"] = response.context
        }
        input["ClientMetadata"] = response.metadata
        return try Self.answer(
            await client.call(flow == .admin ? .adminRespondToAuthChallenge : .respondToAuthChallenge, input))
    }

    /// Answers Cognito's device challenge, if the device's credentials are known.
    private func proceed(
        _ answer: AuthenticationAnswer, username: String, device: DeviceCredentials?, context: JSON?, metadata: JSON?
    ) async throws(CognitoError) -> AuthenticationAnswer {
        guard case .challenge(let challenge) = answer, challenge.isNamed("DEVICE_SRP_AUTH"), let device else {
            return answer
        }
        return try await proveDevice(
            device, challenge, username: challenge.username ?? username, context: context, metadata: metadata)
    }

    private static func answer(_ output: JSONObject) throws(CognitoError) -> AuthenticationAnswer {
        guard let answer = AuthenticationAnswer(output) else { throw CognitoError(unavailable: "UnexpectedAnswer") }
        return answer
    }
}
