internal import Cognito
internal import Cryptography
internal import Encoding
internal import Sealing
internal import Store

/// The standing of an intact and unexpired refresh token, by the session records.
enum RefreshStanding: Sendable {
    /// It is the newest token of its session.
    case current
    /// It was exchanged, and its successor is unused: the client gets the successor again, however long ago that was.
    case parent(of: UnusedSuccessor)
    /// It was exchanged by a gateway with a key that this one does not have yet: its standing is unknown here.
    case sealedElsewhere
    /// It was exchanged, and its successor is in use or another device presents the token: one of the two holders is a
    /// thief.
    case reused
    /// Its session was ended, or is no longer stored.
    case ended
}

/// The newest refresh token of a session, not used yet.
struct UnusedSuccessor: Sendable {
    /// The session's record when it was read.
    var record: SessionRecord
    var token: SealedRefreshToken
    /// The response that contained the token; nil if it is no longer stored, or its access token has expired.
    var answer: RefreshedSession?
}

/// The session records of one pool, and the values sealed in them.
struct RefreshSessions: Sendable {
    let records: any SessionRecords
    let poolID: String
    let keys: SealingKeyRing
    /// The keys of the pool's other app clients.
    var otherKeys: [SealingKeyRing] = []
    let now: @Sendable () -> Int64

    /// A session that has ended, with the values needed to revoke its tokens.
    struct Ended: Sendable {
        var subject: String
        var originID: String?
        /// In seconds since 1970: by the gateway's clock or the provider's, whichever is later.
        var signedInAt: Int64
        /// The app client that the refresh token was issued to.
        var clientID: String
        /// The provider's newest refresh token.
        var refreshToken: Secret
    }

    /// Stores a new session.
    ///
    /// - Parameter code: the SHA-256 of the authorization code that begins the session; nil if there is none.
    /// - Returns: false, with nothing stored, if that code has been used.
    @discardableResult
    func begin(
        _ sealed: SealedRefreshToken, _ text: Secret, on device: DeviceInfo?, redeeming code: [UInt8]? = nil
    ) async throws -> Bool {
        // The token's time may be by the provider's clock, which can be ahead.
        let time = min(sealed.issuedAt, now())
        return try await records.begin(
            SessionRecord(
                family: sealed.family, poolID: poolID, subject: sealed.subject, originID: sealed.originID,
                deviceID: sealed.deviceID, platform: device?.platform, device: SessionDevice(device),
                generation: sealed.generation, token: text.expose(), signedInAt: time, refreshedAt: time,
                endsAt: sealed.expiresAt), redeeming: code)
    }

    // MARK: Refresh

    /// Returns the standing of a token by the session's record.
    ///
    /// - Parameter deviceID: the client's device, as the client claims; nil if it names none.
    func standing(of sealed: SealedRefreshToken, on deviceID: String?) async throws -> RefreshStanding {
        standing(of: sealed.generation, on: deviceID, in: try await records.session(sealed.family))
    }

    /// As ``standing(of:on:)``, with the record. A session without a record is older than the records: Cognito decides.
    func standing(of generation: Int64, on deviceID: String?, in record: SessionRecord?) -> RefreshStanding {
        guard let record else { return .current }
        guard record.endedAt == nil else { return .ended }
        // A record that is behind lost its last steps in a power failure.
        guard generation < record.generation else { return .current }
        guard generation == record.generation - 1,
            BoundDevice.mayHaveAgain(deviceID, of: record.deviceID, isInWindow: isInWindow(record))
        else { return .reused }
        guard !awaitsKey(of: record) else { return .sealedElsewhere }
        guard let token = newest(of: record) else { return .reused }
        guard record.answer != nil else { return .parent(of: UnusedSuccessor(record: record, token: token)) }
        guard var answer = answer(of: record) else { return .reused }
        answer.isGivenAgain = true
        let isFresh = answer.accessExpiresAt > now()
        return .parent(of: UnusedSuccessor(record: record, token: token, answer: isFresh ? answer : nil))
    }

    /// Returns the standing of a token that is to end the user's other sessions. The parent of an unused token may do
    /// so only within the retry window: otherwise anybody who finds an old token could sign the user out everywhere.
    func standingOverOthers(of generation: Int64, in record: SessionRecord?) -> RefreshStanding {
        let standing = standing(of: generation, on: nil, in: record)
        guard case .parent(let successor) = standing, !isInWindow(successor.record) else { return standing }
        return .reused
    }

    private func isInWindow(_ record: SessionRecord) -> Bool {
        RetryWindows.isOpen(refreshedAt: record.refreshedAt, retryUntil: record.retryUntil, now: now())
    }

    /// Returns the token for the call to Cognito: the newest provider token under the same generation number. The
    /// client's token may contain an older one, if its parent was exchanged again in the meantime.
    ///
    /// - Returns: nil if the newest is sealed with a key that another gateway may still share with this one.
    func current(_ sealed: SealedRefreshToken, in record: SessionRecord?) -> SealedRefreshToken? {
        guard let record, record.generation == sealed.generation else { return sealed }
        return newest(of: record) ?? (awaitsKey(of: record) ? nil : sealed)
    }

    /// Stores the response before it is sent, so that a client that does not get it can repeat the call.
    ///
    /// - Parameters:
    ///   - sealed: the new refresh token; its text is in `session`.
    ///   - device: for a session without a record.
    ///   - mayBegin: whether the session may begin with this token. A session that had a record when its turn came may
    ///     not: its user may have been deleted in the meantime.
    /// - Returns: the new standing of the previous token: ``RefreshStanding/current`` if this response is to be sent.
    func advance(
        to sealed: SealedRefreshToken, _ session: RefreshedSession, begunOn device: DeviceInfo? = nil,
        on deviceID: String?, mayBegin: Bool
    ) async throws -> RefreshStanding {
        let record = SessionRecord(
            family: sealed.family, poolID: poolID, subject: sealed.subject, originID: sealed.originID,
            deviceID: sealed.deviceID, platform: device?.platform, device: SessionDevice(device),
            generation: sealed.generation,
            token: session.refreshToken.expose(), answer: try seal(session).expose(),
            signedInAt: min(sealed.issuedAt, now()), refreshedAt: now(), endsAt: sealed.expiresAt)
        let step = try await mayBegin ? records.advance(to: record) : records.advanceStored(to: record)
        switch step {
        case .taken: return .current
        case .overtaken(let record): return standing(of: sealed.generation - 1, on: deviceID, in: record)
        case .gone: return .ended
        }
    }

    /// Stores a new response for an unused token before it is sent.
    ///
    /// - Parameter session: the token under its generation number, and the tokens issued with it.
    /// - Returns: as ``advance(to:_:begunOn:on:mayBegin:)``.
    func renew(
        _ successor: UnusedSuccessor, as session: RefreshedSession, on deviceID: String?
    ) async throws -> RefreshStanding {
        var record = successor.record
        record.token = session.refreshToken.expose()
        (record.answer, record.refreshedAt) = (try seal(session).expose(), now())
        switch try await records.renew(successor.record, as: record) {
        case .taken: return .current
        case .overtaken(let record): return standing(of: successor.token.generation - 1, on: deviceID, in: record)
        case .gone: return .ended
        }
    }

    // MARK: Ends

    func end(family: [UInt8]?, originIDs: Set<String>) async throws -> [Ended] {
        try await records.end(family: family, originIDs: originIDs, poolID: poolID, at: now()).compactMap(ended)
    }

    /// Ends the sessions of a user.
    ///
    /// - Parameters:
    ///   - family: of the session that continues; nil: all end.
    ///   - latest: the latest sign-in time to end, in seconds since 1970; nil: all sign-ins end.
    func endAll(
        of subject: String, except family: [UInt8]? = nil, signedInUntil latest: Int64? = nil
    ) async throws -> [Ended] {
        guard let latest else {
            return try await records.endAll(subject: subject, poolID: poolID, except: family, at: now())
                .compactMap(ended)
        }
        var ended: [Ended] = []
        for session in try await openSessions(of: subject) {
            guard session.signedInAt <= latest, session.family != family else { continue }
            ended += try await end(family: session.family, originIDs: [])
        }
        return ended
    }

    func forget(_ subject: String) async throws {
        try await records.forget(subject: subject, poolID: poolID)
    }

    func openSessions(of subject: String) async throws -> [SessionRecord] {
        try await records.open(subject: subject, poolID: poolID)
    }

    /// Returns the session for revocation; nil for a record whose key is gone, so that its token is unusable.
    func ended(_ record: SessionRecord) -> Ended? {
        let rings = [keys] + otherKeys
        let opened = rings.lazy.compactMap { ring in
            try? SealedRefreshToken(opening: Secret(record.token), with: ring, poolID: poolID)
        }
        return opened.first.map {
            Ended(
                subject: record.subject, originID: record.originID, signedInAt: max(record.signedInAt, $0.issuedAt),
                clientID: $0.clientID, refreshToken: $0.refreshToken)
        }
    }

    // MARK: Answers

    private func seal(_ session: RefreshedSession) throws -> Secret {
        var writer = ByteWriter()
        let written =
            writer.write(field: session.refreshToken.expose()) && writer.write(field: session.accessToken.expose())
            && writer.write(optional: session.idToken?.exposeText()) && writer.write(optional: session.scope)
            && writer.write(text: session.subject)
        guard written else { throw SealingFailure() }
        writer.write(integer: session.accessExpiresAt)
        return try SealedText.seal(writer.bytes, as: .answer, with: keys, poolID: poolID)
    }

    /// Returns whether the record is sealed with a key that another gateway may still share with this one. A key that
    /// is missing for an hour is gone, with everything sealed by it.
    private func awaitsKey(of record: SessionRecord) -> Bool {
        now() - record.refreshedAt < 3600
            && [record.token, record.answer].compactMap { $0 }.contains { keys.lacksKey(of: Secret($0)) }
    }

    /// Returns the newest token of a session; nil if its key is gone.
    private func newest(of record: SessionRecord) -> SealedRefreshToken? { token(Secret(record.token), of: record) }

    /// Unseals a token; nil if it is not the newest of the session. A token of another row could be unsealed as well,
    /// and must not be returned.
    private func token(_ text: Secret, of record: SessionRecord) -> SealedRefreshToken? {
        let token = try? SealedRefreshToken(opening: text, with: keys, poolID: poolID)
        guard let token, token.family == record.family, token.generation == record.generation,
            token.subject.hasSameBytes(as: record.subject)
        else { return nil }
        return token
    }

    private func answer(of record: SessionRecord) -> RefreshedSession? {
        guard let sealed = record.answer,
            let plain = try? SealedText.open(Secret(sealed), as: .answer, with: keys, poolID: poolID)
        else { return nil }
        var reader = ByteReader(plain)
        guard let refreshToken = reader.readField(), let accessToken = reader.readField(),
            let idToken = reader.readOptional(), let scope = reader.readOptional(), let subject = reader.readText(),
            let expiresAt = reader.readInteger(), reader.isAtEnd, token(Secret(refreshToken), of: record) != nil
        else { return nil }
        return RefreshedSession(
            refreshToken: Secret(refreshToken), accessToken: Secret(accessToken),
            idToken: idToken.text.map { Secret($0) }, scope: scope.text, subject: subject, accessExpiresAt: expiresAt)
    }
}

/// The result of a refresh, for all callers that wait for it.
struct RefreshedSession: Sendable {
    /// The client's next refresh token, sealed.
    var refreshToken: Secret
    var accessToken: Secret
    var idToken: Secret?
    var scope: String?
    var subject: String
    /// The expiry in seconds since 1970.
    var accessExpiresAt: Int64
    /// Whether the records were updated with it.
    var isStored = true
    /// Whether the same token returned it before.
    var isGivenAgain = false

    /// The user of the tokens; nil if the tokens cannot be read.
    var user: AccountUser? {
        let result = AuthenticationResult(
            accessToken: accessToken, idToken: idToken, refreshToken: nil, expiresIn: 0)
        return result.accessClaims.flatMap { AccountUser(accessClaims: $0, idClaims: result.idClaims) }
    }
}

extension SessionRecord {
    /// The members in `GET me/export`.
    var exported: JSONObject {
        var exported: JSONObject = [
            "signed_in_at": .string(Timestamp.text(signedInAt)),
            "refreshed_at": .string(Timestamp.text(refreshedAt)),
            "ends_at": .string(Timestamp.text(endsAt)),
            "ended_at": endedAt.map { .string(Timestamp.text($0)) } ?? .null,
            "device_id": deviceID.map(JSON.string) ?? .null,
        ]
        for (name, value) in device.members(platform: platform) { exported[name] = value }
        return exported
    }
}
