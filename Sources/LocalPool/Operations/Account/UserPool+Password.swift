package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// ForgotPassword: sends a code to the user's e-mail address, or to the telephone number, whichever is verified.
    package func forgotPassword(_ request: JSONObject) async throws -> JSONObject {
        let username = try provedUsername(RequestFields(object: request))
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let (message, refusal) = try await store.write { database -> (Message?, PoolError?) in
            let user = try UserRecord.find(username, in: database)
            let who = user?.sub ?? username.lowercased()
            if let refusal = try exceeded(.sendCode, who, in: database, now: now) { return (nil, refusal) }
            guard let user else { return (nil, hidesUsers ? nil : .userNotFound) }
            guard user.isEnabled else { return (nil, .userDisabled) }
            guard user.status != .mustChangePassword, user.status != .externalProvider else {
                return (nil, .notAuthorized("User password cannot be reset in the current state."))
            }
            guard user.resetMedium != nil else {
                return (
                    nil,
                    .invalidParameter(
                        "Cannot reset password for the user as there is no registered/verified email or phone_number")
                )
            }
            return (try sendCode(.passwordReset, to: user, in: database, now: now), nil)
        }
        if let refusal { throw refusal }
        return message.map(Self.delivery) ?? pretendedDelivery(to: username)
    }

    /// ConfirmForgotPassword: sets a new password by a code.
    package func confirmForgotPassword(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let code = try fields.required("ConfirmationCode", maximum: 2048)
        let password = try fields.required("Password", maximum: 256)
        let username = try provedUsername(fields)
        try policy.check(password)
        let known = try await store.read { try UserRecord.find(username, in: $0) }
        // An unknown user takes the same time.
        let credentials = try await credentials(password, of: known?.username ?? uuid())
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let refusal = try await store.write { database -> PoolError? in
            let who = known?.sub ?? username.lowercased()
            if let refusal = try exceeded(.confirmReset, who, in: database, now: now) { return refusal }
            guard let known, var user = try UserRecord.find(sub: known.sub, in: database) else {
                return hidesUsers ? .codeMismatch : .userNotFound
            }
            if let refusal = try ConfirmationCode.redeem(code, .passwordReset, of: user.sub, in: database, now: now) {
                return refusal
            }
            user.credentials = credentials
            if user.status == .mustResetPassword { user.status = .confirmed }
            try user.update(in: database, now: now)
            try SignInAttempts.clear(user.sub, in: database)
            return nil
        }
        if let refusal { throw refusal }
        if let known { try run(.postConfirmation, for: known.email) }
        return [:]
    }

    /// ChangePassword: replaces the password of the access token's user, given the old one.
    package func changePassword(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let proposed = try fields.required("ProposedPassword", maximum: 256)
        let (user, _) = try await signedIn(fields)
        guard let previous = try fields.optional("PreviousPassword") else {
            throw PoolError.invalidParameter("Missing required parameter PreviousPassword")
        }
        let now = clock()
        if let refusal = try await store.write({ try exceeded(.changePassword, user.sub, in: $0, now: now) }) {
            throw refusal
        }
        guard try await passwords.matchesOffThread(previous, user.credentials.passwordHash) else {
            throw PoolError.badCredentials
        }
        try policy.check(proposed)
        let credentials = try await credentials(proposed, of: user.username)
        try await change(user.sub) { $0.credentials = credentials }
        return [:]
    }
}
