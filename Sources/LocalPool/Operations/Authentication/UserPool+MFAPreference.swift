package import Encoding

extension UserPool {
    /// SetUserMFAPreference: sets the enabled second factors and the preferred one.
    package func setUserMFAPreference(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let (user, _) = try await signedIn(fields)
        try await setPreference(fields, of: user.sub)
        return [:]
    }

    func adminSetUserMFAPreference(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let user = try await named(fields)
        try await setPreference(fields, of: user.sub)
        return [:]
    }

    private static let settings: [(name: String, method: SecondFactors.Method)] = [
        ("SMSMfaSettings", .sms), ("SoftwareTokenMfaSettings", .softwareToken), ("EmailMfaSettings", .email),
    ]

    private func setPreference(_ fields: RequestFields, of sub: String) async throws {
        var changes: [(method: SecondFactors.Method, isEnabled: Bool, isPreferred: Bool)] = []
        for (name, method) in Self.settings where fields.object[name] != nil {
            let setting = try fields.structure(name)
            changes.append((method, try setting.flag("Enabled"), try setting.flag("PreferredMfa")))
        }
        guard changes.count(where: \.isPreferred) <= 1 else {
            throw PoolError.invalidParameter("Cannot set multiple methods as preferred.")
        }
        let asked = changes
        try await change(sub) { user in
            for (method, isEnabled, isPreferred) in asked {
                if isEnabled { try check(method, of: user) }
                user.secondFactors.set(method, isEnabled: isEnabled, isPreferred: isPreferred)
            }
        }
    }

    private func check(_ method: SecondFactors.Method, of user: UserRecord) throws(PoolError) {
        guard mfa.mode != .off, mfa.methods.contains(method.rawValue) else {
            throw .invalidParameter("\(method.rawValue) is not enabled for the user pool.")
        }
        switch method {
        case .softwareToken where user.secondFactors.softwareTokenKey == nil:
            throw .invalidParameter("User has not verified software token mfa")
        case .sms where user.phoneNumber == nil:
            throw .invalidParameter("User does not have delivery config set to turn on SMS_MFA")
        default: break
        }
    }
}
