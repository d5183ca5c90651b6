/// A sign-in as it is kept: one family of refresh tokens, of which the newest counts.
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
    /// The tokens that came with the newest refresh token, sealed, for whoever asks once more with the one before it.
    package var answer: [UInt8]?
    /// Until when the answer may be asked for once more although the window for that is over: a process that ended may
    /// never have given it (``LostAnswers``). 0 where that is not so.
    package var retryUntil: Int64
    /// Seconds since 1970, as all times here.
    package var signedInAt: Int64
    /// When the newest refresh token was made.
    package var refreshedAt: Int64
    /// When the last refresh token ends.
    package var endsAt: Int64
    /// When the session was ended; `nil` while it goes on.
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
    /// So many sessions of one user go on at most: more than anybody has devices. Nobody fills the store with sealed
    /// tokens, and makes every call about the own sessions slow, by signing in again and again.
    package static let openAtMost = 200

    /// So many sessions of one user are read at once. More may go on for a moment, where several gateways have begun
    /// some at the same time.
    package static let readAtMost = 1000

    /// So many sessions of one user end with a new one at most: no write takes long.
    package static let endedAtOnce = 8
}

/// The result of advancing a session by one refresh.
package enum SessionStep: Sendable, Equatable {
    /// The record is the session's now.
    case taken
    /// Somebody else took that step before: the session as it is.
    case overtaken(SessionRecord)
    /// The session is stored no more: its user has been forgotten, or its last token has ended.
    case gone
}

/// Where sessions outlast the process. Each operation is one atomic step.
package protocol SessionRecords: RefreshLeaseRecords {
    /// Keeps a new session. Where ``SessionRecord/openAtMost`` of the user's went on before, the one with the earliest
    /// sign-in ends. Of more, as from before this limit, up to ``SessionRecord/endedAtOnce`` end with each sign-in: those
    /// that follow the newest ones, so that the earliest end last.
    ///
    /// - Parameter code: the SHA-256 of the authorization code that the session is given for, which is used up by it;
    ///   nil for any other sign-in.
    /// - Returns: false, with nothing stored, if the code is unknown, has ended or was used before.
    func begin(_ record: SessionRecord, redeeming code: [UInt8]?) async throws -> Bool

    func session(_ family: [UInt8]) async throws -> SessionRecord?

    /// Advances a session to this refresh token and answer, if it has not ended and is not that far yet. The data about
    /// the sign-in itself stays unchanged. A missing session is created, as by ``begin(_:redeeming:)``. The session's
    /// lease ends.
    func advance(to record: SessionRecord) async throws -> SessionStep

    /// As ``advance(to:)``, for a session that was stored when its turn came. A missing session is not created.
    func advanceStored(to record: SessionRecord) async throws -> SessionStep

    /// Stores the newest refresh token and its answer anew, under the same number, if the session has come no further
    /// since it was read. The session's lease ends.
    ///
    /// - Parameters:
    ///   - known: the session as it was read.
    ///   - record: the same session with another token, answer and time of the refresh.
    func renew(_ known: SessionRecord, as record: SessionRecord) async throws -> SessionStep

    /// Ends the sessions of this family or these `origin_jti`.
    ///
    /// - Returns: those of them that went on until now, as they were.
    func end(family: [UInt8]?, originIDs: Set<String>, poolID: String, at now: Int64) async throws -> [SessionRecord]

    /// Ends all of a user's sessions.
    ///
    /// - Parameter family: of one that goes on; nil: none does.
    /// - Returns: those that went on until now, as they were.
    func endAll(subject: String, poolID: String, except family: [UInt8]?, at now: Int64) async throws
        -> [SessionRecord]

    /// A user's sessions that have not been ended, oldest first: the newest ``SessionRecord/readAtMost`` of them.
    func open(subject: String, poolID: String) async throws -> [SessionRecord]

    /// As ``open(subject:poolID:)``, and up to ``SessionRecord/readAtMost`` that have been ended.
    func all(subject: String, poolID: String) async throws -> [SessionRecord]

    /// Forgets a user.
    func forget(subject: String, poolID: String) async throws

    /// Forgets sessions that nobody can have a token of, answers that nobody may ask for any more, and names that nobody
    /// has signed in by for long.
    ///
    /// - Parameter now: seconds since 1970; an earlier time counts while that is not believed (``PruningClock``).
    func removeEnded(now: Int64) async throws
}
