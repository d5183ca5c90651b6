package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// SignUp: a new, unconfirmed user, and a code to the user's e-mail address.
    package func signUp(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let password = try fields.required("Password", maximum: 256)
        let email = try provedUsername(fields)
        guard EmailAddress.isPlausible(email) else { throw PoolError.invalidParameter("Username should be an email.") }
        let attributes = try attributes(fields, email: email)
        try policy.check(password)
        let sub = uuid()
        let user = UserRecord(
            sub: sub, email: email, credentials: try await credentials(password, of: sub), status: .unconfirmed,
            isEmailVerified: false, attributes: attributes, groups: [])
        let now = clock()
        let message = try await store.write { database in
            try user.insert(in: database, now: now)
            return try sendCode(.signUp, to: user, in: database, now: now)
        }
        var answer = Self.delivery(message)
        answer["UserConfirmed"] = false
        answer["UserSub"] = .string(user.sub)
        return answer
    }

    /// ConfirmSignUp: the code proves the e-mail address.
    package func confirmSignUp(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let code = try fields.required("ConfirmationCode", maximum: 2048)
        let username = try provedUsername(fields)
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let refusal = try await store.write { database -> PoolError? in
            let user = try UserRecord.find(username, in: database)
            let who = user?.sub ?? username.lowercased()
            if let refusal = try exceeded(.confirmSignUp, who, in: database, now: now) { return refusal }
            guard var user else { return hidesUsers ? .expiredCode : .userNotFound }
            guard !user.isConfirmed else {
                return .notAuthorized("User cannot be confirmed. Current status is \(user.status.rawValue)")
            }
            if let refusal = try ConfirmationCode.redeem(code, .signUp, of: user.sub, in: database, now: now) {
                return refusal
            }
            user.status = .confirmed
            user.isEmailVerified = true
            try user.update(in: database, now: now)
            return nil
        }
        if let refusal { throw refusal }
        return [:]
    }

    /// ResendConfirmationCode: another code for a sign-up.
    package func resendConfirmationCode(_ request: JSONObject) async throws -> JSONObject {
        let username = try provedUsername(RequestFields(object: request))
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let (message, refusal) = try await store.write { database -> (Message?, PoolError?) in
            let user = try UserRecord.find(username, in: database)
            let who = user?.sub ?? username.lowercased()
            if let refusal = try exceeded(.sendCode, who, in: database, now: now) { return (nil, refusal) }
            guard let user else { return (nil, hidesUsers ? nil : .userNotFound) }
            guard !user.isConfirmed else { return (nil, .invalidParameter("User is already confirmed.")) }
            return (try sendCode(.signUp, to: user, in: database, now: now), nil)
        }
        if let refusal { throw refusal }
        return message.map(Self.delivery) ?? pretendedDelivery(to: username)
    }

    /// The user name of a request whose client has proved itself with a hash of it.
    func provedUsername(_ fields: RequestFields) throws(PoolError) -> String {
        let username = try fields.username()
        try client(fields).checkSecretHash(try fields.optional("SecretHash"), username: username)
        return username
    }

    /// The attributes to keep; the e-mail address is kept apart from them.
    func attributes(_ fields: RequestFields, email: String) throws(PoolError) -> JSONObject {
        var result = JSONObject()
        let client = try client(fields)
        for (name, value) in try fields.attributes("UserAttributes") {
            try UserAttribute.check(name, value)
            try client.checkWriting(name)
            if name != "email" {
                result[name] = .string(value)
            } else if value.lowercased() != email.lowercased() {
                throw .invalidParameter("Username and the email attribute must be the same.")
            }
        }
        return result
    }
}
