internal import GRDB
internal import Logging
package import Pipeline
internal import Store

extension UserPool {
    /// SignUp: a new, unconfirmed user, and a code to the user's e-mail address.
    package func signUp(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let password = try fields.required("Password", maximum: 256)
        let email = try checkClientAndUsername(fields)
        guard EmailAddress.isPlausible(email) else { throw PoolError.invalidParameter("Username should be an email.") }
        let attributes = try signUpAttributes(fields, email: email)
        if let violation = PasswordPolicy.violation(password) {
            throw PoolError(type: "InvalidPasswordException", message: violation)
        }
        let user = UserRecord(
            sub: uuid(), email: email, passwordHash: try await passwords.makeOffThread(password), isConfirmed: false,
            attributes: attributes, groups: [])
        let code = ConfirmationCode.make(from: random(8))
        let (now, lifetime) = (clock(), configuration.lifetimes.confirmationCode)
        try await store.write { database in
            try user.insert(in: database, now: now)
            try ConfirmationCode.deliver(code, to: user, in: database, now: now, lifetime: lifetime)
        }
        // This log is a mailbox: there is no other way for a developer's code to arrive.
        logger.notice("confirmation code", metadata: ["email": "\(email)", "code": "\(code)"])
        return [
            "UserConfirmed": false, "UserSub": .string(user.sub),
            "CodeDeliveryDetails": [
                "Destination": .string(EmailAddress.masked(email)), "DeliveryMedium": "EMAIL",
                "AttributeName": "email",
            ],
        ]
    }

    /// ConfirmSignUp: the code proves the e-mail address.
    package func confirmSignUp(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let code = try fields.required("ConfirmationCode", maximum: 2048)
        let username = try checkClientAndUsername(fields)
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let refusal = try await store.write { database -> PoolError? in
            guard let user = try UserRecord.find(username, in: database) else {
                return hidesUsers ? .expiredCode : .userNotFound
            }
            guard !user.isConfirmed else {
                return .notAuthorized("User cannot be confirmed. Current status is CONFIRMED")
            }
            return try ConfirmationCode.redeem(code, of: user.sub, in: database, now: now)
        }
        if let refusal { throw refusal }
        return [:]
    }

    /// What both operations have in common: the client, its hash, and the user name.
    private func checkClientAndUsername(_ fields: RequestFields) throws(PoolError) -> String {
        let username = try fields.required("Username", maximum: 128)
        guard !username.unicodeScalars.contains(where: \.properties.isWhitespace) else {
            throw RequestFields.violation(
                "Value at 'username'",
                "Member must satisfy regular expression pattern: [\\p{L}\\p{M}\\p{S}\\p{N}\\p{P}]+")
        }
        try client.checkClient(try fields.required("ClientId", maximum: 128))
        try client.checkSecretHash(try fields.optional("SecretHash"), username: username)
        return username
    }

    /// The attributes to keep; the e-mail address is kept apart from them.
    private func signUpAttributes(_ fields: RequestFields, email: String) throws(PoolError) -> JSONObject {
        var result = JSONObject()
        for (name, value) in try fields.attributes("UserAttributes") {
            guard UserAttribute.isKnown(name) else {
                throw .invalidParameter(
                    "Attributes did not conform to the schema: Type for attribute {\(name)} could not be determined")
            }
            guard !UserAttribute.isManaged(name) else {
                throw .notAuthorized("A client attempted to write unauthorized attribute")
            }
            guard value.utf8.count <= 2048 else {
                throw RequestFields.violation(
                    "Value at 'userAttributes'", "Member must have length less than or equal to 2048")
            }
            if name != "email" {
                result[name] = .string(value)
            } else if value.lowercased() != email.lowercased() {
                throw .invalidParameter("Username and the email attribute must be the same.")
            }
        }
        return result
    }
}
