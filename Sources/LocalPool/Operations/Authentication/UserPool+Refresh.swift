package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    /// REFRESH_TOKEN_AUTH: refused if the client rotates its tokens. The secret hash is over the user's real name.
    func refresh(_ parameters: RequestFields, _ client: ClientAuthentication) async throws -> JSONObject {
        guard !configuration.rotation.isEnabled else {
            throw PoolError.invalidParameter("REFRESH_TOKEN_AUTH flow not enabled for this client")
        }
        let token = try parameters.parameter("REFRESH_TOKEN")
        let hash = try client.received(try parameters.optional("SECRET_HASH"))
        let deviceKey = try parameters.optional("DEVICE_KEY")
        let (session, user) = try await store.read { database in
            let (session, user) = try Self.session(of: token, client, in: database)
            try client.checkRefreshSecretHash(hash, realUsername: user.username)
            try check(session, user, deviceKey: deviceKey, in: database)
            return (session, user)
        }
        return try result(for: user, session, refreshToken: nil)
    }

    /// GetTokensFromRefreshToken: requires the client secret itself and no user name. With rotation the response has
    /// the next refresh token.
    package func getTokensFromRefreshToken(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let token = try fields.required("RefreshToken")
        let client = try client(fields)
        try client.checkSecret(try fields.optional("ClientSecret"))
        let deviceKey = try fields.optional("DeviceKey")
        guard configuration.rotation.isEnabled else {
            let (session, user) = try await store.read { database in
                let (session, user) = try Self.session(of: token, client, in: database)
                try check(session, user, deviceKey: deviceKey, in: database)
                return (session, user)
            }
            return ["AuthenticationResult": .object(try result(for: user, session, refreshToken: nil))]
        }
        let next = newRefreshToken()
        // The check and the replacement are one transaction, so that only one of two requests with the same token wins.
        let now = clock()
        let (session, user, refusal) = try await store.write { database in
            let (session, user) = try Self.session(of: token, client, in: database)
            try check(session, user, deviceKey: deviceKey, in: database)
            if let replaced = session.replacedAt, now >= replaced + configuration.rotation.retryGrace {
                // The token may be stolen: everything from this sign-in is revoked. Throwing would roll that back.
                try session.revokeFamily(in: database, now: now)
                return (session, user, PoolError?.some(.reusedRefreshToken))
            }
            try session.replace(by: RefreshTokenRecord.hash(of: next), in: database, now: now)
            return (session, user, nil)
        }
        if let refusal { throw refusal }
        return ["AuthenticationResult": .object(try result(for: user, session, refreshToken: next))]
    }

    private static func session(
        of token: String, _ client: ClientAuthentication, in database: Database
    ) throws -> (RefreshTokenRecord, UserRecord) {
        guard let session = try RefreshTokenRecord.find(token, in: database),
            session.clientID.isEmpty || session.clientID == client.clientID,
            let user = try UserRecord.find(sub: session.sub, in: database)
        else { throw PoolError.invalidRefreshToken }
        return (session, user)
    }

    private func check(
        _ session: RefreshTokenRecord, _ user: UserRecord, deviceKey: String?, in database: Database
    ) throws {
        guard session.revokedAt == nil else { throw PoolError.revokedRefreshToken }
        guard session.expires > clock() else { throw PoolError.expiredRefreshToken }
        guard user.isEnabled else { throw PoolError.userDisabled }
        // The tokens of a confirmed device are valid only together with its key.
        if let key = session.deviceKey, key != deviceKey, configuration.devices != .off,
            try DeviceRecord.find(key, of: user.sub, in: database)?.isConfirmed == true
        {
            throw PoolError.invalidRefreshToken
        }
    }
}
