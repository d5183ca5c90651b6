package import Encoding

extension UserPool {
    /// GetUser: the attributes of the access token's user. Requires no client and no secret.
    package func getUser(_ request: JSONObject) async throws -> JSONObject {
        let (user, claims) = try await signedIn(RequestFields(object: request))
        let client = clients.first { $0.clientID == claims.clientID }
        var answer: JSONObject = [
            "UserAttributes": Self.attributes(of: user) { client?.reads($0) ?? true },
            "Username": .string(user.username),
        ]
        Self.addPreference(of: user, to: &answer)
        return answer
    }

    /// All readable attributes, as `[{Name, Value}]`.
    static func attributes(of user: UserRecord, where isReadable: (String) -> Bool = { _ in true }) -> JSON {
        var attributes: [(name: String, value: JSON)] = [("sub", .string(user.sub))]
        if !user.email.isEmpty { attributes.append(("email_verified", user.isEmailVerified ? "true" : "false")) }
        if user.phoneNumber != nil {
            attributes.append(("phone_number_verified", user.isPhoneVerified ? "true" : "false"))
        }
        if let identity = user.identity {
            let identities = JSON.array([identity.claim(createdAt: user.createdAt)])
            attributes.append(("identities", .string(identities.text)))
        }
        attributes += user.attributes.map { ($0.name, $0.value) }
        if !user.email.isEmpty { attributes.append(("email", .string(user.email))) }
        return .array(
            attributes.filter { isReadable($0.name) }.map { ["Name": .string($0.name), "Value": $0.value] })
    }

    static func addPreference(of user: UserRecord, to answer: inout JSONObject) {
        let factors = user.secondFactors
        if !factors.methods.isEmpty {
            answer["UserMFASettingList"] = .array(factors.methods.map { .string($0.rawValue) })
        }
        if let preferred = factors.preferred { answer["PreferredMfaSetting"] = .string(preferred.rawValue) }
    }
}
