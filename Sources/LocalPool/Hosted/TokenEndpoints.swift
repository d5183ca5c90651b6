internal import Cryptography
internal import Encoding
internal import Logging
internal import Store

/// `/oauth2/token`, `/oauth2/revoke` and `/oauth2/userInfo`.
struct TokenEndpoints: Sendable {
    let pool: UserPool
    let rehearsal: Rehearsal

    /// Returns nil if the path does not exist.
    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse? {
        switch (request.method, request.path) {
        case ("POST", "/oauth2/token"): await carryOut("OAuthToken") { try await tokens(request) }
        case ("POST", "/oauth2/revoke"): await carryOut("OAuthRevoke") { try await revoke(request) }
        case ("GET", "/oauth2/userInfo"), ("POST", "/oauth2/userInfo"):
            await carryOut("OAuthUserInfo") { try await userInfo(request) }
        default: nil
        }
    }

    private func tokens(_ request: LocalPoolRequest) async throws -> LocalPoolResponse {
        guard let form = HostedParameters(form: request), let grant = form["grant_type"] else {
            throw OAuthError.invalidRequest
        }
        let (client, _) = try pool.authenticatedClient(form, authorization: request.header("authorization"))
        let result: JSONObject
        switch grant {
        case "authorization_code": result = try await pool.redeem(form, client)
        case "refresh_token": result = try await refreshed(form, client)
        // This grant is for scopes of resource servers, and the pool has none.
        case "client_credentials": throw OAuthError(error: "unauthorized_client")
        default: throw OAuthError(error: "unsupported_grant_type")
        }
        let isOpenID = pool.scopes(of: result).contains("openid")
        var answer: JSONObject = ["access_token": result["AccessToken"] ?? .null]
        if isOpenID { answer["id_token"] = result["IdToken"] }
        answer["refresh_token"] = result["RefreshToken"]
        answer["expires_in"] = result["ExpiresIn"]
        answer["token_type"] = "Bearer"
        return .json(.object(answer))
    }

    private func refreshed(_ form: HostedParameters, _ client: ClientAuthentication) async throws -> JSONObject {
        guard let token = form["refresh_token"] else { throw OAuthError.invalidRequest }
        var input: JSONObject = ["ClientId": .string(client.clientID), "RefreshToken": .string(token)]
        input["ClientSecret"] = client.secret.map { .string($0.exposeText()) }
        do {
            let output = try await pool.getTokensFromRefreshToken(input)
            return output["AuthenticationResult"]?.objectValue ?? [:]
        } catch is PoolError {
            throw OAuthError.invalidGrant
        }
    }

    private func revoke(_ request: LocalPoolRequest) async throws -> LocalPoolResponse {
        guard let form = HostedParameters(form: request), let token = form["token"] else {
            throw OAuthError.invalidRequest
        }
        let (client, _) = try pool.authenticatedClient(form, authorization: request.header("authorization"))
        var input: JSONObject = ["ClientId": .string(client.clientID), "Token": .string(token)]
        input["ClientSecret"] = client.secret.map { .string($0.exposeText()) }
        do {
            _ = try await pool.revokeToken(input)
        } catch let error as PoolError {
            throw OAuthError(
                error: error.type == "UnsupportedTokenTypeException" ? "unsupported_token_type" : "invalid_request")
        }
        return LocalPoolResponse(status: 200, contentType: "application/json", body: [])
    }

    private func userInfo(_ request: LocalPoolRequest) async throws -> LocalPoolResponse {
        guard let header = request.header("authorization"), header.lowercased().hasPrefix("bearer ") else {
            throw OAuthError(error: "invalid_request", description: "Bearer token is missing.")
        }
        let reader = AccessTokenReader(keys: pool.keys.verifying, issuer: pool.issuer)
        let user: UserRecord
        do {
            let claims = try reader.read(String(header.dropFirst(7)), now: pool.clock())
            guard claims.scopes.contains("openid") else { throw OAuthError.invalidToken }
            user = try await pool.owner(of: claims).user
        } catch is PoolError {
            throw OAuthError.invalidToken
        }
        var answer: JSONObject = ["sub": .string(user.sub)]
        for element in UserPool.attributes(of: user).arrayValue ?? [] {
            guard let name = element["Name"]?.stringValue else { continue }
            answer[name] = element["Value"]
        }
        answer["username"] = .string(user.username)
        return .json(.object(answer))
    }

    private func carryOut(
        _ operation: String, _ body: () async throws -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        await rehearsal.answer(operation) { error, status in
            Self.refusal(OAuthError(error: error.type, description: error.message, status: status ?? 400))
        } otherwise: {
            var call = Rehearsal.Call(operation: operation)
            var response: LocalPoolResponse
            do {
                response = try await body()
            } catch let error as OAuthError {
                call.error = error.error
                response = Self.refusal(error)
            } catch {
                pool.logger.error("a call failed", metadata: ["operation": "\(operation)", "error": "\(error)"])
                call.error = "server_error"
                response = Self.refusal(OAuthError(error: "server_error", status: 500))
            }
            rehearsal.record(call)
            response.headers.append(.init(name: "cache-control", value: "no-store"))
            return response
        }
    }

    private static func refusal(_ error: OAuthError) -> LocalPoolResponse {
        var body: JSONObject = ["error": .string(error.error)]
        if let description = error.description { body["error_description"] = .string(description) }
        var response = LocalPoolResponse.json(.object(body), status: error.status)
        if error.status == 401 {
            response.headers.append(.init(name: "www-authenticate", value: "Bearer error=\"\(error.error)\""))
        }
        return response
    }
}

extension UserPool {
    /// The scopes of a result's access token.
    fileprivate func scopes(of result: JSONObject) -> [Substring] {
        guard let token = result["AccessToken"]?.stringValue else { return [] }
        let parts = token.split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1].utf8),
            let scope = (try? JSON.parse(payload))?["scope"]?.stringValue
        else { return [] }
        return scope.split(separator: " ")
    }

    /// The discovery document (OpenID Connect Discovery 1.0, 4.2).
    var openIDConfiguration: JSONObject {
        [
            "authorization_endpoint": .string("\(endpoint)/oauth2/authorize"),
            "end_session_endpoint": .string("\(endpoint)/logout"),
            "id_token_signing_alg_values_supported": ["RS256"], "issuer": .string(issuer),
            "jwks_uri": .string("\(issuer)/.well-known/jwks.json"), "response_types_supported": ["code"],
            "revocation_endpoint": .string("\(endpoint)/oauth2/revoke"),
            "scopes_supported": ["openid", "email", "phone", "profile"], "subject_types_supported": ["public"],
            "token_endpoint": .string("\(endpoint)/oauth2/token"),
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "userinfo_endpoint": .string("\(endpoint)/oauth2/userInfo"),
        ]
    }
}
