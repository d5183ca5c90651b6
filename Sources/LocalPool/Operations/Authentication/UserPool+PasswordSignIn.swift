internal import Cryptography
internal import Encoding
internal import Store

extension UserPool {
    /// USER_PASSWORD_AUTH, and the administrator's password flow.
    func signIn(_ parameters: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        let username = try parameters.parameter("USERNAME", maximum: 128)
        let password = try parameters.parameter("PASSWORD", maximum: 256)
        try client.checkSecretHash(try parameters.optional("SECRET_HASH"), username: username)
        let user = try await authenticate(username, password)
        return try await proceed(
            user, SignInAttempt(clientID: client.clientID, deviceKey: try parameters.optional("DEVICE_KEY")))
    }

    /// Returns the user if the password is correct and the user may sign in.
    func authenticate(_ username: String, _ password: String) async throws -> UserRecord {
        let user = try await store.read { try UserRecord.find(username, in: $0) }
        try runPreAuthentication(user, named: username)
        // Comes before all refusals, so that they take the same time.
        let isRight = try await passwords.matchesOffThread(password, user?.credentials.passwordHash ?? decoyHash)
        if let user { try checkBeforeProof(user) }
        guard let user else {
            throw configuration.preventsUserExistenceErrors ? PoolError.badCredentials : PoolError.userNotFound
        }
        guard isRight else { throw try await failure(of: user) }
        if user.credentials.srp == nil { try await addVerifier(to: user, password) }
        return try await admit(user)
    }

    /// Cognito runs the trigger for unknown users as well if it hides the existence of users.
    func runPreAuthentication(_ user: UserRecord?, named username: String) throws(PoolError) {
        guard user != nil || configuration.preventsUserExistenceErrors else { return }
        try run(.preAuthentication, for: user?.email ?? username)
    }

    /// Throws the errors that do not depend on the password: the account is locked, or its password must be reset.
    func checkBeforeProof(_ user: UserRecord) throws(PoolError) {
        if configuration.hasLockout, user.lockedUntil > clock() { throw .attemptsExceeded }
        if user.status == .mustResetPassword { throw .passwordResetRequired }
    }

    /// Counts a wrong password.
    func failure(of user: UserRecord) async throws -> PoolError {
        let now = clock()
        try await store.write { try SignInAttempts.recordFailure(of: user.sub, in: $0, now: now) }
        return .badCredentials
    }

    /// Returns the user, whose password was correct, unless something else prevents the sign-in.
    func admit(_ user: UserRecord) async throws -> UserRecord {
        guard user.status != .externalProvider else { throw PoolError.badCredentials }
        if user.failedAttempts > 0 {
            try await store.write { try SignInAttempts.clear(user.sub, in: $0) }
        }
        guard user.isEnabled else { throw PoolError.userDisabled }
        guard user.isConfirmed else { throw PoolError.userNotConfirmed }
        return user
    }

    /// Adds the SRP verifier for users from before the pool supported SRP.
    private func addVerifier(to user: UserRecord, _ password: String) async throws {
        let identity = SRPIdentity(poolID: configuration.poolID, userID: user.username)
        let srp = try PasswordHashing.srp(Secret(password), identity: identity, salt: random(16))
        try await change(user.sub) { stored in
            if stored.credentials.passwordHash == user.credentials.passwordHash { stored.credentials.srp = srp }
        }
    }
}
