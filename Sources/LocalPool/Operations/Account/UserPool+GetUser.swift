package import Pipeline
internal import Store

extension UserPool {
    /// GetUser: the attributes of the access token's user. Takes no client and no secret.
    package func getUser(_ request: JSONObject) async throws -> JSONObject {
        let token = try RequestFields(object: request).required("AccessToken")
        let sub = try AccessTokenReader(key: keys.access, issuer: issuer).subject(of: token, now: clock())
        guard let user = try await store.read({ try UserRecord.find(sub, in: $0) }) else {
            throw PoolError.userNotFound
        }
        var attributes: [(name: String, value: JSON)] = [
            ("sub", .string(user.sub)), ("email_verified", user.isConfirmed ? "true" : "false"),
        ]
        attributes += user.attributes.map { ($0.name, $0.value) }
        attributes.append(("email", .string(user.email)))
        return [
            "UserAttributes": .array(attributes.map { ["Name": .string($0.name), "Value": $0.value] }),
            "Username": .string(user.sub),
        ]
    }
}
