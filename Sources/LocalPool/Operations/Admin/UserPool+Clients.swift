internal import Cryptography
package import Encoding
internal import Store

extension UserPool {
    /// CreateUserPoolClient: creates a client that can sign users in at once. Other settings than flows, attributes and
    /// secret are only stored and returned; token lifetimes are those of the pool's configuration.
    func createUserPoolClient(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        _ = try fields.required("ClientName", maximum: 128)
        let needsSecret = try fields.flag("GenerateSecret")
        let now = clock()
        let client = AppClientRecord(
            id: RandomIdentifier.client(from: random(26)),
            secret: needsSecret ? Secret(RandomIdentifier.client(from: random(51))) : nil,
            description: try description(fields), createdAt: now, changedAt: now)
        try await store.write { try client.save(in: $0) }
        registry.put(client)
        return ["UserPoolClient": json(client)]
    }

    /// DescribeUserPoolClient. Permissions that nobody set are omitted, as at Cognito.
    package func describeUserPoolClient(_ request: JSONObject) async throws -> JSONObject {
        let client = try client(RequestFields(object: request))
        if let made = registry.records.first(where: { $0.id == client.clientID }) {
            return ["UserPoolClient": json(made)]
        }
        return ["UserPoolClient": json(client)]
    }

    /// UpdateUserPoolClient: omitted settings get their defaults, as at Cognito.
    func updateUserPoolClient(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        var client = try madeClient(fields)
        let name = client.description["ClientName"]
        client.description = try description(fields)
        if client.description["ClientName"] == nil { client.description["ClientName"] = name }
        client.changedAt = clock()
        let changed = client
        try await store.write { try changed.save(in: $0) }
        registry.put(changed)
        return ["UserPoolClient": json(changed)]
    }

    func deleteUserPoolClient(_ request: JSONObject) async throws -> JSONObject {
        let client = try madeClient(RequestFields(object: request))
        try await store.write { try client.delete(in: $0) }
        registry.remove(client.id)
        return [:]
    }

    func listUserPoolClients(_ request: JSONObject) async throws -> JSONObject {
        let page = try Page(RequestFields(object: request), token: "NextToken", limit: "MaxResults")
        let names = Dictionary(
            registry.records.map { ($0.id, $0.description["ClientName"] ?? .string($0.id)) }, uniquingKeysWith: { $1 })
        return page.answer(
            "UserPoolClients",
            clients.map { client in
                let description: JSON = [
                    "ClientId": .string(client.clientID), "UserPoolId": .string(configuration.poolID),
                    "ClientName": names[client.clientID] ?? .string(client.clientID),
                ]
                return (client.clientID, description)
            })
    }

    /// The client that the request names, if it was created at run time.
    ///
    /// - Throws: InvalidParameterException for a client of the configuration file.
    private func madeClient(_ fields: RequestFields) throws(PoolError) -> AppClientRecord {
        let id = try client(fields).clientID
        guard let made = registry.records.first(where: { $0.id == id }) else {
            throw .invalidParameter("Client \(id) is the configuration file's.")
        }
        return made
    }

    /// The members of a request that describe a client, after a check of its attributes and flows.
    private func description(_ fields: RequestFields) throws(PoolError) -> JSONObject {
        for name in try fields.strings("ReadAttributes") + fields.strings("WriteAttributes") {
            guard UserAttribute.isManaged(name) || configuration.schema[name] != nil else {
                throw .invalidParameter("Invalid write attributes specified while creating a client")
            }
        }
        for flow in try fields.strings("ExplicitAuthFlows") where !Self.explicitFlows.contains(flow) {
            throw RequestFields.violation(
                "Value at 'explicitAuthFlows'",
                "Member must satisfy enum value set: [\(Self.explicitFlows.joined(separator: ", "))]")
        }
        let identity: Set<String> = ["UserPoolId", "ClientId", "GenerateSecret", "ClientSecret"]
        return JSONObject(
            fields.object.filter { !identity.contains($0.name) && $0.value != .null }.map { ($0.name, $0.value) })
    }

    private static let explicitFlows = [
        "ADMIN_NO_SRP_AUTH", "CUSTOM_AUTH_FLOW_ONLY", "USER_PASSWORD_AUTH", "ALLOW_ADMIN_USER_PASSWORD_AUTH",
        "ALLOW_CUSTOM_AUTH", "ALLOW_USER_PASSWORD_AUTH", "ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH",
        "ALLOW_USER_AUTH",
    ]

    private func json(_ client: AppClientRecord) -> JSON {
        var json: JSONObject = [
            "UserPoolId": .string(configuration.poolID), "ClientId": .string(client.id),
            "CreationDate": .number(JSONNumber(client.createdAt)),
            "LastModifiedDate": .number(JSONNumber(client.changedAt)), "RefreshTokenValidity": 30,
            "AllowedOAuthFlowsUserPoolClient": false, "EnableTokenRevocation": true, "AuthSessionValidity": 3,
            "EnablePropagateAdditionalUserContextData": false,
        ]
        json["ClientSecret"] = client.secret.map { .string($0.exposeText()) }
        for (name, value) in client.description { json[name] = value }
        return .object(json)
    }

    /// A client of the configuration.
    private func json(_ client: ClientAuthentication) -> JSON {
        let lifetimes = configuration.lifetimes
        var json: JSONObject = [
            "UserPoolId": .string(configuration.poolID), "ClientId": .string(client.clientID),
            "ClientName": .string(client.clientID),
            "ExplicitAuthFlows": .array(client.flows.sorted().map(JSON.string)),
            "AccessTokenValidity": .number(JSONNumber(lifetimes.accessToken)),
            "IdTokenValidity": .number(JSONNumber(lifetimes.idToken)),
            "RefreshTokenValidity": .number(JSONNumber(lifetimes.refreshToken)),
            "TokenValidityUnits": ["AccessToken": "seconds", "IdToken": "seconds", "RefreshToken": "seconds"],
            "PreventUserExistenceErrors": configuration.preventsUserExistenceErrors ? "ENABLED" : "LEGACY",
            "EnableTokenRevocation": true,
        ]
        json["ClientSecret"] = client.secret.map { .string($0.exposeText()) }
        json["WriteAttributes"] = client.writeAttributes.map { .array($0.map(JSON.string)) }
        json["ReadAttributes"] = client.readAttributes.map { .array($0.map(JSON.string)) }
        if configuration.rotation.isEnabled {
            json["RefreshTokenRotation"] = [
                "Feature": "ENABLED",
                "RetryGracePeriodSeconds": .number(JSONNumber(configuration.rotation.retryGrace)),
            ]
        }
        return .object(json)
    }
}

extension RandomIdentifier {
    /// Letters and digits, one for each random byte; the bias does not matter for an identifier.
    static func client(from random: [UInt8]) -> String {
        let alphabet = Array("0123456789abcdefghijklmnopqrstuv".utf8)
        return String(decoding: random.map { alphabet[Int($0) % alphabet.count] }, as: UTF8.self)
    }
}
