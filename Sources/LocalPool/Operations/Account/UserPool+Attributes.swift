package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// UpdateUserAttributes. A code is sent to a new address. The address is set at once and unverified, or only after
    /// its code was entered: see `attributes_require_verification_before_update`.
    package func updateUserAttributes(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let attributes = try fields.attributes("UserAttributes")
        let (user, claims) = try await signedIn(fields)
        guard !attributes.isEmpty else { throw PoolError.invalidParameter("No attributes were given.") }
        for (name, value) in attributes {
            try configuration.schema.check(name, value, isNew: false)
            try checkWriting(name, by: claims.clientID)
        }
        let messages = try await write(attributes, of: user.sub, sendingCodes: true)
        return ["CodeDeliveryDetailsList": .array(messages.map { .object($0.deliveryDetails) })]
    }

    /// DeleteUserAttributes.
    func deleteUserAttributes(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let names = try fields.strings("UserAttributeNames")
        let (user, claims) = try await signedIn(fields)
        for name in names {
            try configuration.schema.check(name, "", isNew: false)
            try checkWriting(name, by: claims.clientID)
        }
        let (naming, schema) = (configuration.naming, configuration.schema)
        try await change(user.sub) { user in
            for name in names { try user.remove(name, naming, schema) }
        }
        return [:]
    }

    /// GetUserAttributeVerificationCode: sends another code for an address.
    func getUserAttributeVerificationCode(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let purpose = try Self.verifiable(fields)
        let (user, _) = try await signedIn(fields)
        let now = clock()
        let (message, refusal) = try await store.write { database -> (Message?, PoolError?) in
            if let refusal = try exceeded(.sendCode, user.sub, in: database, now: now) { return (nil, refusal) }
            let pending = try ConfirmationCode.pendingValue(purpose, of: user.sub, in: database)
            guard user.value(of: purpose.rawValue) != nil || pending != nil else {
                return (nil, .invalidParameter("User has no \(purpose.rawValue)."))
            }
            return (try sendCode(purpose, to: user, at: pending, in: database, now: now), nil)
        }
        if let refusal { throw refusal }
        return message.map(Self.delivery) ?? [:]
    }

    /// VerifyUserAttribute: verifies an address by its code.
    func verifyUserAttribute(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let code = try fields.required("Code", maximum: 2048)
        let purpose = try Self.verifiable(fields)
        let (user, _) = try await signedIn(fields)
        let now = clock()
        let refusal = try await store.write { database -> PoolError? in
            if let refusal = try exceeded(.verifyAttribute, user.sub, in: database, now: now) { return refusal }
            guard var user = try UserRecord.find(sub: user.sub, in: database) else { return .userNotFound }
            let pending = try ConfirmationCode.pendingValue(purpose, of: user.sub, in: database)
            if let refusal = try ConfirmationCode.redeem(code, purpose, of: user.sub, in: database, now: now) {
                return refusal
            }
            if let pending { _ = try Self.set(purpose.rawValue, to: pending, of: &user) }
            if purpose == .email { user.isEmailVerified = true } else { user.isPhoneVerified = true }
            try user.update(in: database, now: now)
            return nil
        }
        if let refusal { throw refusal }
        return [:]
    }

    /// Checks whether the client of a token may write the attribute.
    private func checkWriting(_ name: String, by clientID: String) throws(PoolError) {
        try clients.first { $0.clientID == clientID }?.checkWriting(name)
    }

    /// Stores the attributes and sends codes to new addresses.
    func write(
        _ attributes: [(name: String, value: String)], of sub: String, sendingCodes: Bool
    ) async throws -> [Message] {
        let now = clock()
        let values = attributes.map { ($0.name, $0.value) }
        let (naming, schema) = (configuration.naming, configuration.schema)
        return try await store.write { database in
            guard var user = try UserRecord.find(sub: sub, in: database) else { throw PoolError.userNotFound }
            var changed: [(purpose: ConfirmationCode.Purpose, pending: String?)] = []
            for (name, value) in values {
                guard !value.isEmpty else {
                    try user.remove(name, naming, schema)
                    continue
                }
                let old = user
                guard let purpose = try Self.set(name, to: value, of: &user) else { continue }
                let waits = sendingCodes && configuration.verifiesBeforeUpdate.contains(name)
                if waits { user = old }
                changed.append((purpose, waits ? value : nil))
            }
            try user.update(in: database, now: now)
            guard sendingCodes else { return [] }
            let updated = user
            return try changed.map { try sendCode($0.purpose, to: updated, at: $0.pending, in: database, now: now) }
        }
    }

    /// Sets one attribute. A new address becomes unverified, and the purpose of its code is returned.
    private static func set(
        _ name: String, to value: String, of user: inout UserRecord
    ) throws(PoolError) -> ConfirmationCode.Purpose? {
        switch name {
        case "email":
            guard EmailAddress.isPlausible(value) else { throw .invalidParameter("Invalid email address format.") }
            guard value != user.email else { return nil }
            user.email = value
            user.isEmailVerified = false
            return .email
        case "phone_number":
            guard value != user.phoneNumber else { return nil }
            user.attributes[name] = .string(value)
            user.isPhoneVerified = false
            return .phoneNumber
        default:
            user.attributes[name] = .string(value)
            return nil
        }
    }

    private static func verifiable(_ fields: RequestFields) throws(PoolError) -> ConfirmationCode.Purpose {
        let name = try fields.required("AttributeName", maximum: 32)
        switch name {
        case "email": return .email
        case "phone_number": return .phoneNumber
        default: throw .invalidParameter("\(name) is not an attribute that can be verified.")
        }
    }
}

extension UserRecord {
    /// Removes an attribute, as a blank value also does.
    ///
    /// - Throws: InvalidParameterException if the attribute is required.
    fileprivate mutating func remove(
        _ name: String, _ naming: LocalPoolConfiguration.NamingRule, _ schema: LocalPoolConfiguration.AttributeSchema
    ) throws(PoolError) {
        guard naming.usernameAttributes != [name] else {
            throw .invalidParameter("Cannot delete the \(name) attribute.")
        }
        try schema.checkComplete(attributeNames.filter { $0 != name })
        if name == "email" { (email, isEmailVerified) = ("", false) } else { attributes[name] = nil }
        if phoneNumber == nil { isPhoneVerified = false }
    }
}
