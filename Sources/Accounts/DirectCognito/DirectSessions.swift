internal import Encoding
internal import Locking
internal import Pipeline
package import Store

/// The sessions of translated sign-ins, by digests of their refresh tokens: a refresh token says nothing by itself, and
/// who signs out by one wants the access tokens to end that came from it.
///
/// Held in memory for as long as an access token lives that came with the refresh token; `DirectCognitoCalls` shares
/// those of calls of the API with other gateways, not those of hosted pages. Of others Cognito is asked, which takes the
/// refresh token of a device with the device's key only. So those are stored as well: no sign-out has the key.
package final class DirectSessions: Sendable {
    static let lifetime = CognitoSignInSettings.longestAccessToken
    /// How long other gateways know one that was noted, in seconds.
    static let sharedLifetime = lifetime + interval
    /// After so many seconds one that is used is shared again.
    private static let interval: Int64 = 3600
    private let table: Locked<ExpiringTable<JSONObject>>
    private let records: (any DirectSessionRecords)?
    private let unshared: UnsharedSessions
    let unfinishedSignOuts: UnfinishedSignOuts
    let singlyRevoked = SinglyRevokedSignIns()
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - records: of sessions of devices; nil: these do not outlast the process.
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

    /// - Parameters:
    ///   - claims: of an access token of the session.
    ///   - digest: of the refresh token that came with it, or that it was got for.
    /// - Returns: the session to share; nil where that was done within the last hour.
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

    /// Has a session shared again whose sharing has failed, soon and until it succeeds. Where too many wait for that,
    /// its next use is the next try.
    func shareAgain(_ session: [UInt8], by digest: String, share: @escaping UnsharedSessions.Share) {
        guard !unshared.add(session, by: digest, share: share) else { return }
        let now = now()
        table.withLock { table in
            guard let session = table.value(of: digest, at: now) else { return }
            table.set(session, of: digest, endsAt: now + Self.lifetime, at: now)
        }
    }

    /// Notes a session that another gateway has shared.
    func learn(_ session: JSONObject, by digest: String) {
        let now = now()
        table.withLock { $0.set(session, of: digest, endsAt: now + Self.lifetime, at: now) }
    }

    /// Stores a session of a device.
    ///
    /// - Parameters: as of ``note(_:by:)``.
    func store(_ claims: JSONObject, by digest: String, poolID: String) async throws {
        // Without an `origin_jti` there is nothing to end.
        guard let subject = claims["sub"]?.stringValue, let originID = claims["origin_jti"]?.stringValue else { return }
        try await records?.note(
            DirectSessionRecord(
                digest: digest, poolID: poolID, subject: subject, originID: originID,
                signedInAt: claims["auth_time"]?.integerValue, endsAt: now() + Self.lifetime))
    }

    /// As ``claims(by:)``, of a session of a device that this process has not seen.
    func storedClaims(by digest: String, poolID: String) async throws -> JSONObject? {
        guard let record = try await records?.session(by: digest, poolID: poolID), record.endsAt > now() else {
            return nil
        }
        var claims: JSONObject = ["sub": .string(record.subject), "origin_jti": .string(record.originID)]
        claims["auth_time"] = record.signedInAt.map { .number(JSONNumber($0)) }
        return claims
    }

    /// The claims `sub`, `origin_jti` and `auth_time` of the session's tokens; nil for one that is not known here.
    func claims(by digest: String) -> JSONObject? {
        let now = now()
        return table.withLock { $0.value(of: digest, at: now) }
    }
}
