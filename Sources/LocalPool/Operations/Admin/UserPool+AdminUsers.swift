internal import Encoding
internal import Store

extension UserPool {
    /// AdminCreateUser: creates a user with a temporary password, which is sent unless suppressed.
    func adminCreateUser(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let username = try fields.username()
        let action = try fields.optional("MessageAction")
        guard action != "RESEND" else { return try await resendInvitation(username) }
        let attributes = try administratorsAttributes(fields, isNew: true)
        let password = try fields.optional("TemporaryPassword") ?? temporaryPassword()
        var user = try newUser(
            named: username,
            attributes.filter { !UserAttribute.isManaged($0.key) }.map { (name: $0.key, value: $0.value) })
        try policy.check(password)
        let takesAlias = try fields.flag("ForceAliasCreation")
        let now = clock()
        user.credentials = try await credentials(password, of: user.username)
        user.status = .mustChangePassword
        user.isEmailVerified = attributes["email_verified"] == "true"
        user.isPhoneVerified = attributes["phone_number_verified"] == "true"
        user.passwordExpires = now + configuration.lifetimes.temporaryPassword
        (user.createdAt, user.changedAt) = (now, now)
        let created = user
        try await store.write { database in
            if takesAlias { try UserNames.take(for: created, in: database, now: now) }
            try created.insert(in: database, now: now)
            guard action != "SUPPRESS", let message = invitation(of: created, password) else { return }
            try deliver(message, in: database, now: now)
        }
        return ["User": .object(Self.description(of: created, attributes: "Attributes"))]
    }

    /// AdminGetUser.
    func adminGetUser(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        var answer = Self.description(of: user, attributes: "UserAttributes")
        Self.addPreference(of: user, to: &answer)
        return answer
    }

    /// AdminUpdateUserAttributes: can also mark addresses as verified.
    func adminUpdateUserAttributes(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let user = try await named(fields)
        let attributes = try administratorsAttributes(fields, isNew: false)
        let plain = attributes.filter { !UserAttribute.isManaged($0.key) }.map { (name: $0.key, value: $0.value) }
        _ = try await write(plain, of: user.sub, sendingCodes: false)
        try await change(user.sub) { user in
            if let value = attributes["email_verified"] { user.isEmailVerified = value == "true" }
            if let value = attributes["phone_number_verified"] { user.isPhoneVerified = value == "true" }
        }
        return [:]
    }

    /// AdminDeleteUser.
    func adminDeleteUser(_ request: JSONObject) async throws -> JSONObject {
        let user = try await named(RequestFields(object: request))
        try await store.write { try user.delete(in: $0) }
        return [:]
    }

    /// The user that an administrator's request names.
    ///
    /// - Throws: UserNotFoundException, even if the pool hides the existence of users from clients.
    func named(_ fields: RequestFields) async throws -> UserRecord {
        let username = try fields.username()
        guard let user = try await store.read({ try UserRecord.find(username, in: $0) }) else {
            throw PoolError.userNotFound
        }
        return user
    }

    private func resendInvitation(_ username: String) async throws -> JSONObject {
        guard let user = try await store.read({ try UserRecord.find(username, in: $0) }) else {
            throw PoolError.userNotFound
        }
        guard user.status == .mustChangePassword else {
            throw PoolError(
                type: "UnsupportedUserStateException",
                message: "Resend not possible. User is not in FORCE_CHANGE_PASSWORD state.")
        }
        let password = temporaryPassword()
        let credentials = try await credentials(password, of: user.username)
        let now = clock()
        let expires = now + configuration.lifetimes.temporaryPassword
        try await change(user.sub) { user in
            user.credentials = credentials
            user.passwordExpires = expires
        }
        if let message = invitation(of: user, password) {
            try await store.write { try deliver(message, in: $0, now: now) }
        }
        return ["User": .object(Self.description(of: user, attributes: "Attributes"))]
    }

    /// The message with the temporary password; nil for a user without an address.
    private func invitation(of user: UserRecord, _ password: String) -> Message? {
        signUpMedium(of: user).map { medium in
            Message(
                medium: medium, address: medium == .sms ? user.phoneNumber ?? "" : user.email, purpose: "invitation",
                code: password)
        }
    }

    /// The attributes of an administrator's request, which may also mark addresses as verified.
    private func administratorsAttributes(
        _ fields: RequestFields, isNew: Bool
    ) throws(PoolError) -> [String: String] {
        var result: [String: String] = [:]
        for (name, value) in try fields.attributes("UserAttributes") {
            if name == "email_verified" || name == "phone_number_verified" {
                guard ["true", "false"].contains(value.lowercased()) else {
                    throw .invalidParameter("\(name) must be true or false.")
                }
                result[name] = value.lowercased()
            } else {
                try configuration.schema.check(name, value, isNew: isNew)
                result[name] = value
            }
        }
        return result
    }

    /// A password that satisfies every policy.
    private func temporaryPassword() -> String { "aA1!" + RandomIdentifier.uuid(from: random(16)) }

    static func description(of user: UserRecord, attributes name: String) -> JSONObject {
        [
            "Username": .string(user.username), name: attributes(of: user), "Enabled": .bool(user.isEnabled),
            "UserStatus": .string(user.status.rawValue), "UserCreateDate": .number(JSONNumber(user.createdAt)),
            "UserLastModifiedDate": .number(JSONNumber(user.changedAt)),
        ]
    }
}
