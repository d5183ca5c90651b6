package import Encoding

extension UserPool {
    /// GetUser: the attributes of the access token's user. Takes no client and no secret.
    package func getUser(_ request: JSONObject) async throws -> JSONObject {
        let (user, _) = try await signedIn(RequestFields(object: request))
        var answer: JSONObject = [
            "UserAttributes": Self.attributes(of: user), "Username": .string(user.sub),
        ]
        Self.addPreference(of: user, to: &answer)
        return answer
    }

    /// All attributes, in the form `[{Name, Value}]`.
    static func attributes(of user: UserRecord) -> JSON {
        var attributes: [(name: String, value: JSON)] = [
            ("sub", .string(user.sub)), ("email_verified", user.isEmailVerified ? "true" : "false"),
        ]
        if user.phoneNumber != nil {
            attributes.append(("phone_number_verified", user.isPhoneVerified ? "true" : "false"))
        }
        attributes += user.attributes.map { ($0.name, $0.value) }
        attributes.append(("email", .string(user.email)))
        return .array(attributes.map { ["Name": .string($0.name), "Value": $0.value] })
    }

    static func addPreference(of user: UserRecord, to answer: inout JSONObject) {
        let factors = user.secondFactors
        if !factors.methods.isEmpty {
            answer["UserMFASettingList"] = .array(factors.methods.map { .string($0.rawValue) })
        }
        if let preferred = factors.preferred { answer["PreferredMfaSetting"] = .string(preferred.rawValue) }
    }
}
