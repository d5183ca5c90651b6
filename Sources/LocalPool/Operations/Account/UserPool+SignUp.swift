package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// SignUp: creates an unconfirmed user and sends a code to the user's address.
    package func signUp(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let password = try fields.required("Password", maximum: 256)
        let username = try provedUsername(fields)
        guard !configuration.onlyAdministratorsCreateUsers else { throw PoolError.signUpNotPermitted }
        let client = try client(fields)
        let attributes = try fields.attributes("UserAttributes")
        for (name, _) in attributes { try client.checkWriting(name) }
        var user = try newUser(named: username, attributes)
        try configuration.schema.checkComplete(user.attributeNames)
        try policy.check(password)
        try run(.preSignUp, for: user.email)
        user.credentials = try await credentials(password, of: user.username)
        let (new, now) = (user, clock())
        let message = try await store.write { database -> Message? in
            try new.insert(in: database, now: now)
            guard signUpMedium(of: new) != nil else { return nil }
            return try sendCode(.signUp, to: new, in: database, now: now)
        }
        var answer = message.map(Self.delivery) ?? [:]
        answer["UserConfirmed"] = false
        answer["UserSub"] = .string(user.sub)
        return answer
    }

    /// ConfirmSignUp: confirms the user and verifies the address by its code.
    package func confirmSignUp(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let code = try fields.required("ConfirmationCode", maximum: 2048)
        let username = try provedUsername(fields)
        let takesAlias = try fields.flag("ForceAliasCreation")
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let (email, refusal) = try await store.write { database -> (String?, PoolError?) in
            let user = try UserRecord.find(username, in: database)
            let who = user?.sub ?? username.lowercased()
            if let refusal = try exceeded(.confirmSignUp, who, in: database, now: now) { return (nil, refusal) }
            guard var user else { return (nil, hidesUsers ? .expiredCode : .userNotFound) }
            guard !user.isConfirmed else {
                return (nil, .notAuthorized("User cannot be confirmed. Current status is \(user.status.rawValue)"))
            }
            if let refusal = try ConfirmationCode.redeem(code, .signUp, of: user.sub, in: database, now: now) {
                return (nil, refusal)
            }
            user.status = .confirmed
            if signUpMedium(of: user) == .sms { user.isPhoneVerified = true } else { user.isEmailVerified = true }
            if takesAlias { try UserNames.take(for: user, in: database, now: now) }
            try user.update(in: database, now: now)
            return (user.email, nil)
        }
        if let refusal { throw refusal }
        // The user stays confirmed even if the trigger refuses.
        if let email { try run(.postConfirmation, for: email) }
        return [:]
    }

    /// ResendConfirmationCode: sends another code for a sign-up.
    package func resendConfirmationCode(_ request: JSONObject) async throws -> JSONObject {
        let username = try provedUsername(RequestFields(object: request))
        let (now, hidesUsers) = (clock(), configuration.preventsUserExistenceErrors)
        let (message, refusal) = try await store.write { database -> (Message?, PoolError?) in
            let user = try UserRecord.find(username, in: database)
            let who = user?.sub ?? username.lowercased()
            if let refusal = try exceeded(.sendCode, who, in: database, now: now) { return (nil, refusal) }
            guard let user else { return (nil, hidesUsers ? nil : .userNotFound) }
            guard !user.isConfirmed else { return (nil, .invalidParameter("User is already confirmed.")) }
            guard signUpMedium(of: user) != nil else {
                return (nil, .invalidParameter("User has no email or phone_number to send a code to."))
            }
            return (try sendCode(.signUp, to: user, in: database, now: now), nil)
        }
        if let refusal { throw refusal }
        return message.map(Self.delivery) ?? pretendedDelivery(to: username)
    }

    /// The user name of a request, after the client was authenticated by the secret hash.
    func provedUsername(_ fields: RequestFields) throws(PoolError) -> String {
        let username = try fields.username()
        try client(fields).checkSecretHash(try fields.optional("SecretHash"), username: username)
        return username
    }
}
