internal import Cognito
internal import Cryptography
internal import Encoding
internal import Sealing
internal import Store

/// The standing of a refresh token that is intact and has not expired, by the session records.
enum RefreshStanding: Sendable {
    /// It is the newest one of its session.
    case current
    /// It was exchanged, and nobody has used its successor: that one is given once more, however long ago it was.
    case parent(of: UnusedSuccessor)
    /// It was exchanged, by a gateway with a key that this one does not know yet: nobody can tell here how it stands.
    case sealedElsewhere
    /// It was exchanged before, and its successor is in use, or another device shows it: one of the two who have it
    /// stole it.
    case reused
    /// Its session was ended, or is stored no more.
    case ended
}

/// The newest refresh token of a session, which nobody has used yet.
struct UnusedSuccessor: Sendable {
    /// The session, as it was read.
    var record: SessionRecord
    var token: SealedRefreshToken
    /// The answer that it was given with; nil where that is stored no more, or its access token has expired.
    var answer: RefreshedSession?
}

/// The session records of one pool, with what is sealed in them.
struct RefreshSessions: Sendable {
    let records: any SessionRecords
    let poolID: String
    let keys: SealingKeyRing
    /// Those of the pool's other app clients.
    var otherKeys: [SealingKeyRing] = []
    let now: @Sendable () -> Int64

    /// A session that has been ended, as far as others must hear of it.
    struct Ended: Sendable {
        var subject: String
        var originID: String?
        /// In seconds since 1970: by the gateway's clock or the provider's, whichever is later.
        var signedInAt: Int64
        /// The app client that the provider gave the refresh token to.
        var clientID: String
        /// The provider's newest refresh token.
        var refreshToken: Secret
    }

    /// - Parameter code: the SHA-256 of the authorization code that it is given for, if it is for one.
    /// - Returns: false, with nothing stored, if that code cannot be used any more.
    @discardableResult
    func begin(
        _ sealed: SealedRefreshToken, _ text: Secret, on device: DeviceInfo?, redeeming code: [UInt8]? = nil
    ) async throws -> Bool {
        // The provider's clock may be ahead, by which the token has the time.
        let time = min(sealed.issuedAt, now())
        return try await records.begin(
            SessionRecord(
                family: sealed.family, poolID: poolID, subject: sealed.subject, originID: sealed.originID,
                deviceID: sealed.deviceID, platform: device?.platform, device: SessionDevice(device),
                generation: sealed.generation, token: text.expose(), signedInAt: time, refreshedAt: time,
                endsAt: sealed.expiresAt), redeeming: code)
    }

    // MARK: Refresh

    /// - Parameter deviceID: the device that shows the token, as it says itself; nil: it does not say.
    func standing(of sealed: SealedRefreshToken, on deviceID: String?) async throws -> RefreshStanding {
        standing(of: sealed.generation, on: deviceID, in: try await records.session(sealed.family))
    }

    /// A session that is not known here began before the records did: what Cognito says of it counts.
    func standing(of generation: Int64, on deviceID: String?, in record: SessionRecord?) -> RefreshStanding {
        guard let record else { return .current }
        guard record.endedAt == nil else { return .ended }
        // A record that is behind has lost its last steps with the machine's power.
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

    /// The standing of a token that is to end the user's other sessions. Over these the parent of an unused token has a
    /// say within the window alone: else whoever finds an old one could sign the user out everywhere.
    func standingOverOthers(of generation: Int64, in record: SessionRecord?) -> RefreshStanding {
        let standing = standing(of: generation, on: nil, in: record)
        guard case .parent(let successor) = standing, !isInWindow(successor.record) else { return standing }
        return .reused
    }

    private func isInWindow(_ record: SessionRecord) -> Bool {
        LostAnswers.isOpen(refreshedAt: record.refreshedAt, retryUntil: record.retryUntil, now: now())
    }

    /// The token to ask Cognito with: the newest refresh token of the provider's under the same number. The
    /// token that is shown may have an older one, where its parent was shown meanwhile.
    ///
    /// - Returns: nil where it is sealed with a key that may still come here from another gateway.
    func current(_ sealed: SealedRefreshToken, in record: SessionRecord?) -> SealedRefreshToken? {
        guard let record, record.generation == sealed.generation else { return sealed }
        return newest(of: record) ?? (awaitsKey(of: record) ? nil : sealed)
    }

    /// Keeps the answer before it is given, so that whoever does not get it can ask once more.
    ///
    /// - Parameters:
    ///   - sealed: the new refresh token, and its text in `session`.
    ///   - device: for a session without a record.
    ///   - mayBegin: whether the session may begin with it. One that was stored when its turn came may not: its user
    ///     may have been deleted meanwhile.
    /// - Returns: how the token before stands now: ``RefreshStanding/current`` if this answer is the one to give.
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

    /// Stores an unused token with a new answer, before that is given.
    ///
    /// - Parameter session: the token, under the number that it had, and what came with it.
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

    /// - Parameters:
    ///   - family: of the session that goes on; nil: none does.
    ///   - latest: until when sign-ins are meant, in seconds since 1970; nil: all are.
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

    /// Nil for a record whose key is gone, and with it every use of its token.
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

    /// Whether it is sealed with a key that may still come here from another gateway. One that stays away for an hour is
    /// gone, with all that it sealed.
    private func awaitsKey(of record: SessionRecord) -> Bool {
        now() - record.refreshedAt < 3600
            && [record.token, record.answer].compactMap { $0 }.contains { keys.lacksKey(of: Secret($0)) }
    }

    /// The newest token of a session; nil where its key is gone.
    private func newest(of record: SessionRecord) -> SealedRefreshToken? { token(Secret(record.token), of: record) }

    /// Nil for a token that is not the newest one of the session: one of another row, which opens just as well, is not
    /// given.
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

/// The result of a refresh, for everyone who waits for it.
struct RefreshedSession: Sendable {
    /// The client's next one, sealed.
    var refreshToken: Secret
    var accessToken: Secret
    var idToken: Secret?
    var scope: String?
    var subject: String
    /// In seconds since 1970.
    var accessExpiresAt: Int64
    /// False where the records could not be brought to it.
    var isStored = true
    /// Whether it was given for the same token before.
    var isGivenAgain = false

    /// The user whom the tokens are of; nil for tokens that cannot be read.
    var user: AccountUser? {
        let result = AuthenticationResult(
            accessToken: accessToken, idToken: idToken, refreshToken: nil, expiresIn: 0)
        return result.accessClaims.flatMap { AccountUser(accessClaims: $0, idClaims: result.idClaims) }
    }
}

extension SessionRecord {
    /// As `GET me/export` shows it.
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
