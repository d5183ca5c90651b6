package import Encoding

extension UserPool {
    private static let flows = [
        "USER_SRP_AUTH", "REFRESH_TOKEN_AUTH", "REFRESH_TOKEN", "CUSTOM_AUTH", "ADMIN_NO_SRP_AUTH",
        "USER_PASSWORD_AUTH", "ADMIN_USER_PASSWORD_AUTH", "USER_AUTH",
    ]

    /// InitiateAuth with the flows that the client allows.
    package func initiateAuth(_ request: JSONObject) async throws -> JSONObject {
        try await initiateAuth(RequestFields(object: request), by: .anyone)
    }

    /// AdminInitiateAuth: like InitiateAuth, with its own password flow.
    package func adminInitiateAuth(_ request: JSONObject) async throws -> JSONObject {
        try await initiateAuth(RequestFields(object: request), by: .administrator)
    }

    private func initiateAuth(_ fields: RequestFields, by caller: Caller) async throws -> JSONObject {
        let flow = try fields.required("AuthFlow")
        let client = try client(fields)
        let parameters = try fields.map("AuthParameters")
        guard Self.flows.contains(flow) else {
            throw RequestFields.violation(
                "Value at 'authFlow'", "Member must satisfy enum value set: [\(Self.flows.joined(separator: ", "))]")
        }
        try check(flow, client, caller)
        switch flow {
        case "USER_PASSWORD_AUTH", "ADMIN_USER_PASSWORD_AUTH", "ADMIN_NO_SRP_AUTH":
            return try await signIn(parameters, client)
        case "USER_SRP_AUTH":
            return try await startSRP(parameters, client)
        case "USER_AUTH":
            return try await startChoice(parameters, client)
        case "CUSTOM_AUTH":
            return try await startCustom(parameters, client)
        default:
            return ["AuthenticationResult": .object(try await refresh(parameters, client)), "ChallengeParameters": [:]]
        }
    }

    /// Checks whether this client and this caller may use the flow.
    private func check(_ flow: String, _ client: ClientAuthentication, _ caller: Caller) throws(PoolError) {
        let isAdministratorsOwn = flow.hasPrefix("ADMIN_")
        guard !isAdministratorsOwn || caller == .administrator,
            flow != "USER_PASSWORD_AUTH" || caller == .anyone
        else { throw .invalidParameter("Initiate Auth method not supported.") }
        let setting =
            switch flow {
            case "REFRESH_TOKEN": "ALLOW_REFRESH_TOKEN_AUTH"
            case "ADMIN_NO_SRP_AUTH": "ALLOW_ADMIN_USER_PASSWORD_AUTH"
            default: "ALLOW_\(flow)"
            }
        guard client.flows.contains(setting) else {
            throw .invalidParameter("\(flow) flow not enabled for this client")
        }
    }
}
