internal import GRDB
package import Pipeline
internal import Store

extension UserPool {
    /// REFRESH_TOKEN_AUTH: refused once the client rotates its tokens, and hashed with the user's real name.
    func refresh(_ parameters: RequestFields) async throws -> JSON {
        guard !configuration.rotation.isEnabled else {
            throw PoolError.invalidParameter("REFRESH_TOKEN_AUTH flow not enabled for this client")
        }
        let token = try parameters.parameter("REFRESH_TOKEN")
        let hash = try client.received(try parameters.optional("SECRET_HASH"))
        let (session, user) = try await session(of: token)
        try client.checkRefreshSecretHash(hash, realUsername: user.sub)
        try check(session)
        return try result(for: user, session, refreshToken: nil)
    }

    /// GetTokensFromRefreshToken: takes the client secret itself and no user name; with rotation the answer holds the
    /// next refresh token.
    package func getTokensFromRefreshToken(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let token = try fields.required("RefreshToken")
        try client.checkClient(try fields.required("ClientId", maximum: 128))
        try client.checkSecret(try fields.optional("ClientSecret"))
        guard configuration.rotation.isEnabled else {
            let (session, user) = try await session(of: token)
            try check(session)
            return ["AuthenticationResult": try result(for: user, session, refreshToken: nil)]
        }
        let next = newRefreshToken()
        let now = clock()
        // Checked and replaced in one transaction, so that of two requests with one token only one is the first.
        let (session, user) = try await store.write { database in
            let (session, user) = try Self.session(of: token, in: database)
            try check(session)
            try session.replace(by: RefreshTokenRecord.hash(of: next), in: database, now: now)
            return (session, user)
        }
        return ["AuthenticationResult": try result(for: user, session, refreshToken: next)]
    }

    private func session(of token: String) async throws -> (RefreshTokenRecord, UserRecord) {
        try await store.read { try Self.session(of: token, in: $0) }
    }

    private static func session(
        of token: String, in database: Database
    ) throws -> (RefreshTokenRecord, UserRecord) {
        guard let session = try RefreshTokenRecord.find(token, in: database),
            let user = try UserRecord.find(session.sub, in: database)
        else { throw PoolError.invalidRefreshToken }
        return (session, user)
    }

    private func check(_ session: RefreshTokenRecord) throws(PoolError) {
        let now = clock()
        guard session.expires > now else { throw .expiredRefreshToken }
        if let replaced = session.replacedAt, now >= replaced + configuration.rotation.retryGrace {
            throw .reusedRefreshToken
        }
    }
}
