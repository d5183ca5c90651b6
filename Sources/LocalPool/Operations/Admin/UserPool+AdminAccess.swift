internal import Encoding
internal import Store

extension UserPool {
    /// AdminConfirmSignUp: confirms the user without verifying the address.
    func adminConfirmSignUp(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        try await change(user.sub) { user in
            guard user.status == .unconfirmed else {
                throw PoolError.notAuthorized("User cannot be confirmed. Current status is \(user.status.rawValue)")
            }
            user.status = .confirmed
        }
        return [:]
    }

    func adminEnableUser(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        try await change(user.sub) { $0.isEnabled = true }
        return [:]
    }

    /// AdminDisableUser: prevents sign-in and refresh. The pool refuses access tokens; elsewhere they verify until they
    /// expire.
    func adminDisableUser(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        try await change(user.sub) { $0.isEnabled = false }
        return [:]
    }

    /// AdminSetUserPassword: sets a permanent or a temporary password.
    func adminSetUserPassword(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let password = try fields.required("Password", maximum: 256)
        let isPermanent = try fields.flag("Permanent")
        let user = try await named(fields)
        try policy.check(password)
        let credentials = try await credentials(password, of: user.username)
        let expires = clock() + configuration.lifetimes.temporaryPassword
        try await change(user.sub) { user in
            user.credentials = credentials
            user.status = isPermanent ? .confirmed : .mustChangePassword
            user.passwordExpires = isPermanent ? nil : expires
        }
        try await store.write { try SignInAttempts.clear(user.sub, in: $0) }
        return [:]
    }

    /// AdminResetUserPassword: disables the password until ConfirmForgotPassword sets another one, and sends the code
    /// for that.
    func adminResetUserPassword(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        let now = clock()
        try await store.write { database in
            guard var user = try UserRecord.find(sub: user.sub, in: database) else { throw PoolError.userNotFound }
            guard user.status == .confirmed || user.status == .mustResetPassword else {
                throw PoolError.notAuthorized("User password cannot be reset in the current state.")
            }
            guard user.resetMedium != nil else {
                throw PoolError.invalidParameter(
                    "Cannot reset password for the user as there is no registered/verified email or phone_number")
            }
            user.status = .mustResetPassword
            try user.update(in: database, now: now)
            _ = try sendCode(.passwordReset, to: user, in: database, now: now)
        }
        return [:]
    }

    func adminUserGlobalSignOut(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        let now = clock()
        try await store.write { try RefreshTokenRecord.revokeAll(of: user.sub, in: $0, now: now) }
        return [:]
    }
}
