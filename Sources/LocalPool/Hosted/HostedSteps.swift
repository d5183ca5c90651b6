internal import Cryptography
internal import Encoding

/// The steps on the pages. Each one is an operation of the pool.
struct HostedSteps: Sendable {
    let pool: UserPool
    let asked: AuthorizationRequest

    enum Step: Sendable {
        case page(HostedPage, Int)
        /// An error for the application.
        case refused(String)
        /// The user's `sub`.
        case user(String)
    }

    private static let unknown = Step.page(.failure("There is nothing here."), 404)

    func page(at path: Substring) -> Step {
        switch path {
        case "/login": .page(.signIn(asked, pool), 200)
        case "/signup" where asked.allowsOwnUsers: .page(.signUp(), 200)
        case "/forgotPassword" where asked.allowsOwnUsers: .page(.forgotPassword(), 200)
        default: provider(at: path).map { .page(.provider($0.name), 200) } ?? Self.unknown
        }
    }

    func answer(_ form: HostedParameters, at path: Substring) async throws -> Step {
        if let provider = provider(at: path) { return try await signIn(form, at: provider) }
        guard asked.allowsOwnUsers else { return Self.unknown }
        let username = form["username"] ?? ""
        switch path {
        case "/login": return try await signIn(username, form["password"] ?? "")
        case "/mfa": return try await answerChallenge(form, username)
        case "/signup":
            return try await refusable({ .signUp(note: $0, email: username) }) {
                _ = try await pool.signUp(input(username, ["Password": form["password"]]))
                return .page(.confirm(username), 200)
            }
        case "/confirmUser":
            return try await refusable({ .confirm(username, note: $0) }) {
                _ = try await pool.confirmSignUp(input(username, ["ConfirmationCode": form["code"]]))
                return .page(.signIn(asked, pool, note: "The address is confirmed. Sign in."), 200)
            }
        case "/forgotPassword":
            return try await refusable({ .forgotPassword(note: $0) }) {
                _ = try await pool.forgotPassword(input(username, [:]))
                return .page(.resetPassword(username), 200)
            }
        case "/confirmForgotPassword":
            return try await refusable({ .resetPassword(username, note: $0) }) {
                let fields = ["ConfirmationCode": form["code"], "Password": form["password"]]
                _ = try await pool.confirmForgotPassword(input(username, fields))
                return .page(.signIn(asked, pool, note: "The password is changed. Sign in."), 200)
            }
        default: return Self.unknown
        }
    }

    // MARK: The pool's own users

    private func signIn(_ username: String, _ password: String) async throws -> Step {
        try await refusable({ .signIn(asked, pool, note: $0) }) {
            do {
                let user = try await pool.authenticate(username, password)
                let attempt = SignInAttempt(clientID: asked.client.clientID, deviceKey: nil, isHosted: true)
                return next(try await pool.proceed(user, attempt))
            } catch let error as PoolError where error == .userNotConfirmed {
                _ = try await pool.resendConfirmationCode(input(username, [:]))
                return .page(.confirm(username), 200)
            }
        }
    }

    private func answerChallenge(_ form: HostedParameters, _ username: String) async throws -> Step {
        let name = form["challenge"] ?? ""
        let session = form["session"] ?? ""
        var responses: JSONObject = [
            "USERNAME": .string(username), "SECRET_HASH": .string(asked.client.secretHash(username: username)),
        ]
        switch name {
        case "NEW_PASSWORD_REQUIRED": responses["NEW_PASSWORD"] = form["password"].map(JSON.string)
        case "SELECT_MFA_TYPE": responses["ANSWER"] = form["code"].map(JSON.string)
        default: responses["\(name)_CODE"] = form["code"].map(JSON.string)
        }
        let input: JSONObject = [
            "ClientId": .string(asked.client.clientID), "ChallengeName": .string(name), "Session": .string(session),
            "ChallengeResponses": .object(responses),
        ]
        let same: JSONObject = [
            "ChallengeName": .string(name), "Session": .string(session),
            "ChallengeParameters": ["USER_ID_FOR_SRP": .string(username)],
        ]
        do {
            return next(try await pool.respondToAuthChallenge(input))
        } catch let error as PoolError where ["CodeMismatchException", "InvalidPasswordException"].contains(error.type)
        {
            return .page(.challenge(same, note: error.message) ?? .signIn(asked, pool, note: error.message), 400)
        } catch let error as PoolError {
            return .page(.signIn(asked, pool, note: error.message), 400)
        }
    }

    private func next(_ answer: JSONObject) -> Step {
        if let sub = answer[UserPool.provenUser]?.stringValue { return .user(sub) }
        guard let page = HostedPage.challenge(answer) else {
            return .page(.failure("The local pool has no page for this challenge."), 400)
        }
        return .page(page, 200)
    }

    /// The input of an operation on behalf of the client.
    private func input(_ username: String, _ fields: [String: String?]) -> JSONObject {
        var input: JSONObject = ["ClientId": .string(asked.client.clientID), "Username": .string(username)]
        if asked.client.secret != nil { input["SecretHash"] = .string(asked.client.secretHash(username: username)) }
        for (name, value) in fields { input[name] = value.map(JSON.string) }
        return input
    }

    /// Runs `body`. If the pool refuses, returns the page again with the pool's error message.
    private func refusable(
        _ page: (String) -> HostedPage, _ body: () async throws -> Step
    ) async throws -> Step {
        do {
            return try await body()
        } catch let error as PoolError {
            return .page(page(error.message), 400)
        }
    }

    // MARK: Identity providers

    private func provider(at path: Substring) -> LocalPoolConfiguration.IdentityProvider? {
        guard path.hasPrefix(HostedRouter.providerPrefix) else { return nil }
        let name = path.dropFirst(HostedRouter.providerPrefix.count)
        return AuthorizationRequest.providers(of: pool, asked.settings).first { $0.name == name }
    }

    private func signIn(
        _ form: HostedParameters, at provider: LocalPoolConfiguration.IdentityProvider
    ) async throws -> Step {
        guard form["action"] != "cancel" else { return .refused("access_denied") }
        guard let userID = form["user_id"], let email = form["email"], EmailAddress.isPlausible(email),
            userID.utf8.count <= 90, userID.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return .page(.provider(provider.name, note: "Give an id and an e-mail address."), 400) }
        let sub = try await pool.federate(
            UserPool.ProvidedUser(
                identity: FederatedIdentity(provider: provider.name, providerType: provider.type, userID: userID),
                email: email, isEmailVerified: form["action"] == "verified", name: form["name"]))
        // Cognito's response for a user whom an administrator has disabled.
        return sub.map { .user($0) } ?? .refused("invalid_request")
    }
}
