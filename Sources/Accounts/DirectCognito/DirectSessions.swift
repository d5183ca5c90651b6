internal import Encoding
internal import Locking
internal import Pipeline
package import Store

/// The sessions of translated sign-ins, by digests of their refresh tokens. A refresh token has no claims, and a
/// sign-out with one must end the access tokens derived from it.
///
/// Kept in memory for the lifetime of an access token issued with the refresh token. `DirectCognitoCalls` shares those
/// of API calls with other gateways, but not those of hosted pages. For other sessions Cognito is asked. It exchanges
/// the refresh token of a device only with the device's key, which no sign-out contains, so sessions of devices are
/// also stored.
package final class DirectSessions: Sendable {
    static let lifetime = CognitoSignInSettings.longestAccessToken
    /// The seconds for which other gateways know a shared session.
    static let sharedLifetime = lifetime + interval
    /// The seconds after which a session in use is shared again.
    private static let interval: Int64 = 3600
    private let table: Locked<ExpiringTable<JSONObject>>
    private let records: (any DirectSessionRecords)?
    private let unshared: UnsharedSessions
    let unfinishedSignOuts: UnfinishedSignOuts
    let singlyRevoked = SinglyRevokedSignIns()
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - records: the stored sessions of devices; nil: they are kept only in memory.
    ///   - now: seconds since 1970.
    ///   - pause: waits before sessions that could not be shared are tried again.
    package init(
        records: (any DirectSessionRecords)? = nil, capacity: Int = 200_000, now: @escaping @Sendable () -> Int64,
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        table = Locked(ExpiringTable(capacity: capacity))
        unshared = UnsharedSessions(capacity: capacity, pause: pause)
        unfinishedSignOuts = UnfinishedSignOuts(now: now)
        self.records = records
        self.now = now
    }

    /// Stores a session in memory.
    ///
    /// - Parameters:
    ///   - claims: of an access token of the session.
    ///   - digest: of the refresh token that was issued with it, or exchanged for it.
    /// - Returns: the session to share; nil if it was shared within the last hour.
    @discardableResult
    func note(_ claims: JSONObject, by digest: String) -> JSONObject? {
        var session: JSONObject = [:]
        for name in ["sub", "origin_jti", "auth_time"] { session[name] = claims[name] }
        let now = now()
        return table.withLock { [session] table in
            guard (table.endsAt(of: digest) ?? 0) <= now + Self.lifetime else { return nil }
            table.set(session, of: digest, endsAt: now + Self.sharedLifetime, at: now)
            return session
        }
    }

    /// Shares a session again whose sharing has failed, soon and until it succeeds. If too many are waiting, its next
    /// use is the next try.
    func shareAgain(_ session: [UInt8], by digest: String, share: @escaping UnsharedSessions.Share) {
        guard !unshared.add(session, by: digest, share: share) else { return }
        let now = now()
        table.withLock { table in
            guard let session = table.value(of: digest, at: now) else { return }
            table.set(session, of: digest, endsAt: now + Self.lifetime, at: now)
        }
    }

    /// Stores a session that another gateway has shared.
    func learn(_ session: JSONObject, by digest: String) {
        let now = now()
        table.withLock { $0.set(session, of: digest, endsAt: now + Self.lifetime, at: now) }
    }

    /// Stores a session of a device in the records.
    ///
    /// - Parameters: as of ``note(_:by:)``.
    func store(_ claims: JSONObject, by digest: String, poolID: String) async throws {
        // Without an `origin_jti`, no access tokens can be revoked.
        guard let subject = claims["sub"]?.stringValue, let originID = claims["origin_jti"]?.stringValue else { return }
        try await records?.note(
            DirectSessionRecord(
                digest: digest, poolID: poolID, subject: subject, originID: originID,
                signedInAt: claims["auth_time"]?.integerValue, endsAt: now() + Self.lifetime))
    }

    /// As ``claims(by:)``, for a session of a device that this process has not seen.
    func storedClaims(by digest: String, poolID: String) async throws -> JSONObject? {
        guard let record = try await records?.session(by: digest, poolID: poolID), record.endsAt > now() else {
            return nil
        }
        var claims: JSONObject = ["sub": .string(record.subject), "origin_jti": .string(record.originID)]
        claims["auth_time"] = record.signedInAt.map { .number(JSONNumber($0)) }
        return claims
    }

    /// Returns the claims `sub`, `origin_jti` and `auth_time` of the session's tokens; nil if it is not known here.
    func claims(by digest: String) -> JSONObject? {
        let now = now()
        return table.withLock { $0.value(of: digest, at: now) }
    }
}
