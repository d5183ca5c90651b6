/// A stored sign-in: one family of refresh tokens, the newest of which is valid.
///
/// Secret parts are sealed by the caller.
package struct SessionRecord: Sendable, Equatable {
    /// The identifier that all refresh tokens of the sign-in share: 16 bytes.
    package var family: [UInt8]
    package var poolID: String
    package var subject: String
    /// The access tokens' `origin_jti`.
    package var originID: String?
    package var deviceID: String?
    package var platform: String?
    package var device: SessionDevice
    /// The number of the newest refresh token; the first one's is 0.
    package var generation: Int64
    /// The newest refresh token, sealed.
    package var token: [UInt8]
    /// The tokens issued with the newest refresh token, sealed, for a client that repeats the request with the previous
    /// one.
    package var answer: [UInt8]?
    /// Until when the response may be requested again after its regular window has closed, because a process that ended
    /// may not have sent it (``RetryWindows``). 0 if it may not.
    package var retryUntil: Int64
    /// Seconds since 1970, as all times here.
    package var signedInAt: Int64
    /// When the newest refresh token was made.
    package var refreshedAt: Int64
    /// When the last refresh token expires.
    package var endsAt: Int64
    /// When the session was ended; nil if it is active.
    package var endedAt: Int64?

    package init(
        family: [UInt8], poolID: String, subject: String, originID: String?, deviceID: String?, platform: String?,
        device: SessionDevice = SessionDevice(), generation: Int64, token: [UInt8], answer: [UInt8]? = nil,
        retryUntil: Int64 = 0, signedInAt: Int64,
        refreshedAt: Int64, endsAt: Int64, endedAt: Int64? = nil
    ) {
        self.family = family
        self.poolID = poolID
        self.subject = subject
        self.originID = originID
        self.deviceID = deviceID
        self.platform = platform
        self.device = device
        self.generation = generation
        self.token = token
        self.answer = answer
        self.retryUntil = retryUntil
        self.signedInAt = signedInAt
        self.refreshedAt = refreshedAt
        self.endsAt = endsAt
        self.endedAt = endedAt
    }
}

extension SessionRecord {
    /// The maximum number of active sessions of a user: more than anybody has devices. It stops repeated sign-ins from
    /// filling the store with sealed tokens and slowing down every call about the user's sessions.
    package static let openAtMost = 200

    /// The maximum number of a user's sessions that are read at once. More may be active briefly when several gateways
    /// have started some at the same time.
    package static let readAtMost = 1000

    /// The maximum number of a user's sessions that end with a new one, so that no write takes long.
    package static let endedAtOnce = 8
}

/// The result of advancing a session by one refresh.
package enum SessionStep: Sendable, Equatable {
    /// The record is now the session's.
    case taken
    /// Another caller advanced the session first. The stored session.
    case overtaken(SessionRecord)
    /// The session is no longer stored: its user was deleted, or its last token has expired.
    case gone
}

/// Persistent storage of sessions. Each operation is atomic.
package protocol SessionRecords: RefreshLeaseRecords {
    /// Stores a new session. If the user already had ``SessionRecord/openAtMost`` active ones, the one with the
    /// earliest sign-in ends. If there are more, as from before this limit, up to ``SessionRecord/endedAtOnce`` end
    /// with each sign-in: those next after the newest ones, so the earliest end last.
    ///
    /// - Parameter code: the SHA-256 of the authorization code that the session is issued for and that becomes used;
    ///   nil for any other sign-in.
    /// - Returns: false, with nothing stored, if the code is unknown, has expired or was already used.
    func begin(_ record: SessionRecord, redeeming code: [UInt8]?) async throws -> Bool

    func session(_ family: [UInt8]) async throws -> SessionRecord?

    /// Advances a session to this refresh token and response, if it has not ended and its generation is lower. The data
    /// about the sign-in itself stays unchanged. A missing session is created, as by ``begin(_:redeeming:)``. The
    /// session's lease ends.
    func advance(to record: SessionRecord) async throws -> SessionStep

    /// As ``advance(to:)``, for a session that was stored when the refresh began. A missing session is not created.
    func advanceStored(to record: SessionRecord) async throws -> SessionStep

    /// Replaces the newest refresh token and its response, under the same number, if the session has not advanced since
    /// it was read. The session's lease ends.
    ///
    /// - Parameters:
    ///   - known: the session as it was read.
    ///   - record: the same session with a new token, response and time of refresh.
    func renew(_ known: SessionRecord, as record: SessionRecord) async throws -> SessionStep

    /// Ends the sessions with this family or one of these `origin_jti`.
    ///
    /// - Returns: the sessions that this call ended, as they were before.
    func end(family: [UInt8]?, originIDs: Set<String>, poolID: String, at now: Int64) async throws -> [SessionRecord]

    /// Ends all of a user's sessions.
    ///
    /// - Parameter family: the family of the session that continues; nil if none does.
    /// - Returns: the sessions that this call ended, as they were before.
    func endAll(subject: String, poolID: String, except family: [UInt8]?, at now: Int64) async throws
        -> [SessionRecord]

    /// A user's active sessions, oldest first: at most the newest ``SessionRecord/readAtMost``.
    func open(subject: String, poolID: String) async throws -> [SessionRecord]

    /// As ``open(subject:poolID:)``, with up to ``SessionRecord/readAtMost`` ended sessions.
    func all(subject: String, poolID: String) async throws -> [SessionRecord]

    /// Deletes all records of a user.
    func forget(subject: String, poolID: String) async throws

    /// Deletes sessions whose last token has expired, responses that may no longer be requested, and names not used to
    /// sign in for a long time.
    ///
    /// - Parameter now: seconds since 1970; while this time is not trusted, an earlier time is used (``PruningClock``).
    func removeEnded(now: Int64) async throws
}
