package import Encoding
internal import Store

extension UserPool {
    /// RevokeToken: ends the sign-in of a refresh token. Requires the client secret itself.
    package func revokeToken(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let token = try fields.required("Token")
        let client = try client(fields)
        do {
            try client.checkSecret(try fields.optional("ClientSecret"))
        } catch {
            throw PoolError(type: "UnauthorizedException", message: "Invalid client secret.")
        }
        guard token.split(separator: ".").count != 3 else {
            throw PoolError(type: "UnsupportedTokenTypeException", message: "Unsupported token type")
        }
        let now = clock()
        try await store.write { database in
            // An unknown token counts as revoked (RFC 7009, 2.2).
            guard let session = try RefreshTokenRecord.find(token, in: database) else { return }
            guard session.clientID.isEmpty || session.clientID == client.clientID else {
                throw PoolError(type: "UnauthorizedException", message: "The token is another client's.")
            }
            try session.revokeFamily(in: database, now: now)
        }
        return [:]
    }

    /// GlobalSignOut: ends every sign-in of the access token's user.
    package func globalSignOut(_ request: JSONObject) async throws -> JSONObject {
        let (user, _) = try await signedIn(RequestFields(object: request))
        let now = clock()
        try await store.write { try RefreshTokenRecord.revokeAll(of: user.sub, in: $0, now: now) }
        return [:]
    }

    /// DeleteUser: deletes the access token's user with all stored data.
    package func deleteUser(_ request: JSONObject) async throws -> JSONObject {
        let (user, _) = try await signedIn(RequestFields(object: request))
        try await store.write { try user.delete(in: $0) }
        return [:]
    }
}
