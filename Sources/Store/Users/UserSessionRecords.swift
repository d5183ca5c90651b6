internal import Pipeline

/// A session of a user's as it is kept: a chain of tokens, of which the newest counts.
package struct UserSessionRecord: Sendable, Equatable {
    /// The tokens' `sid`.
    package var id: String
    package var userID: String
    /// The number of the newest token; the first one's is 0.
    package var rotation: Int64
    /// The newest token, sealed, for whoever asks once more with the one before it.
    package var successor: [UInt8]?
    /// Until when the newest token may be asked for once more although the window for that is over: a process that
    /// ended may never have given it (``LostAnswers``). 0 where that is not so.
    package var retryUntil: Int64
    /// When the user proved who they are. Seconds since 1970, as all times here.
    package var authTime: Int64
    package var deviceID: String?
    package var platform: String?
    package var device: SessionDevice
    package var createdAt: Int64
    /// When the newest token was made.
    package var refreshedAt: Int64
    /// When the newest token expires, and the one before it.
    package var expiresAt: Int64
    package var previousExpiresAt: Int64
    /// When the newest token can be refreshed no more.
    package var endsAt: Int64
    /// When the session was ended; nil while it goes on.
    package var endedAt: Int64?

    package init(
        id: String, userID: String, rotation: Int64 = 0, successor: [UInt8]? = nil, retryUntil: Int64 = 0,
        authTime: Int64, deviceID: String? = nil, platform: String? = nil,
        device: SessionDevice = SessionDevice(), createdAt: Int64, refreshedAt: Int64,
        expiresAt: Int64, previousExpiresAt: Int64 = 0, endsAt: Int64, endedAt: Int64? = nil
    ) {
        self.id = id
        self.userID = userID
        self.rotation = rotation
        self.successor = successor
        self.retryUntil = retryUntil
        self.authTime = authTime
        self.deviceID = deviceID
        self.platform = platform
        self.device = device
        self.createdAt = createdAt
        self.refreshedAt = refreshedAt
        self.expiresAt = expiresAt
        self.previousExpiresAt = previousExpiresAt
        self.endsAt = endsAt
        self.endedAt = endedAt
    }
}

/// The effects of a sign-in, in one step: either all of them happen, or nothing.
package struct UserSignIn: Sendable {
    /// Something that is used once.
    package struct Spent: Sendable {
        /// SHA-256 of it.
        package var digest: [UInt8]
        /// When it counts no more anyway.
        package var endsAt: Int64

        package init(digest: [UInt8], endsAt: Int64) {
            self.digest = digest
            self.endsAt = endsAt
        }
    }

    /// The proof that a sign-in uses up: the identity token, and a nonce that was given out.
    package struct Proof: Sendable {
        /// SHA-256 of the identity token.
        package var digest: [UInt8]
        /// When the identity token counts no more anyway.
        package var endsAt: Int64
        /// A nonce of the gateway's; nil where there is none.
        package var nonce: Spent?

        package init(digest: [UInt8], endsAt: Int64, nonce: Spent? = nil) {
            self.digest = digest
            self.endsAt = endsAt
            self.nonce = nonce
        }
    }

    /// Nil where nothing is used up.
    package var proof: Proof?
    /// As whom a user who is not known yet is made: found by issuer and subject. Of one who is known the role must fit
    /// (``UserRecord/mayTake(role:)``) and is taken where there was none, and an e-mail address that is given takes the
    /// place of the one before.
    package var user: UserRecord
    /// Its `userID` is the user's that is found.
    package var session: UserSessionRecord
    /// A refresh token of Apple's that came with it, for the user who is found.
    package var appleToken: (@Sendable (_ userID: String) -> AppleTokenRecord?)?

    package init(
        proof: Proof?, user: UserRecord, session: UserSessionRecord,
        appleToken: (@Sendable (_ userID: String) -> AppleTokenRecord?)? = nil
    ) {
        self.proof = proof
        self.user = user
        self.session = session
        self.appleToken = appleToken
    }
}

/// The result of a sign-in.
package enum UserSignInStep: Sendable, Equatable {
    case signedIn(UserRecord, isNew: Bool)
    /// The identity token was used before.
    case replayed
    /// The nonce has come back before.
    case nonceReused
    /// The user has another role.
    case otherRole(UserRecord)
    case disabled(UserRecord)
}

/// The result of advancing a session by one refresh.
package enum UserSessionStep: Sendable, Equatable {
    /// The record is the session's now.
    case taken
    /// Somebody else took that step before, or the session has ended: as it is; nil where there is none any more.
    case overtaken(UserSessionRecord?)
}

/// A session whose newest token has taken another one's place.
package struct SupersededSession: Sendable, Equatable {
    package var id: String
    /// Tokens before this one count no more.
    package var rotation: Int64
    package var refreshedAt: Int64
    /// The latest `exp` of theirs. Gateways accept a token for the clock skew longer.
    package var expiresAt: Int64

    /// For how many seconds after ``expiresAt`` a reading of all includes a session: the longest clock skew, and an hour
    /// for gateways whose clock is behind.
    package static let grace = 3600 + Issuer.longestSkew

    package init(id: String, rotation: Int64, refreshedAt: Int64, expiresAt: Int64) {
        self.id = id
        self.rotation = rotation
        self.refreshedAt = refreshedAt
        self.expiresAt = expiresAt
    }
}

/// Sessions with replaced tokens that a follower has not read yet.
package struct SupersededReading: Sendable {
    package var sessions: [SupersededSession]
    /// From where to read on.
    package var position: ChangePosition

    package init(sessions: [SupersededSession], position: ChangePosition) {
        self.sessions = sessions
        self.position = position
    }
}

/// Where users' sessions outlast the process. Each operation is one atomic step.
package protocol UserSessionRecords: Sendable {
    /// A sign-in.
    func signIn(_ signIn: UserSignIn) async throws -> UserSignInStep

    func session(_ id: String) async throws -> (session: UserSessionRecord, user: UserRecord)?

    /// Takes a session on to this token, if it goes on and has the token before this one. Of the times at which a
    /// replaced token expires, the record's and those stored, the latest is kept.
    func advance(to record: UserSessionRecord) async throws -> UserSessionStep

    /// Gives the newest token other times, under the same number, if the session goes on and has come no further since it
    /// was read.
    ///
    /// - Parameters:
    ///   - known: the session as it was read.
    ///   - record: the same session with another successor and other times.
    func renew(_ known: UserSessionRecord, as record: UserSessionRecord) async throws -> UserSessionStep

    /// - Returns: whether it went on until now.
    func end(_ id: String, at now: Int64) async throws -> Bool

    /// Ends all of a user's sessions.
    ///
    /// - Returns: those that went on until now, as they were.
    func endAll(of userID: String, at now: Int64) async throws -> [UserSessionRecord]

    /// Whether at least so many sessions of a user's that are kept have been ended.
    func hasEnded(atLeast count: Int, of userID: String) async throws -> Bool

    /// All that are kept of a user, oldest first.
    func sessions(of userID: String) async throws -> [UserSessionRecord]

    /// Sessions with tokens that anyone has replaced since a position, oldest first; without a position, all whose
    /// replaced tokens a gateway may still accept (``SupersededSession/grace``), of more than `limit` the longest-lived.
    /// A position is good for ``LostAnswers/window`` seconds: then a session shows no change any more.
    func superseded(since position: ChangePosition?, now: Int64, limit: Int) async throws -> SupersededReading

    /// Forgets sessions that nobody can have a token of, tokens that nobody may ask for any more, and what sign-ins used
    /// up and counts no more anyway.
    ///
    /// - Parameter now: as in ``SessionRecords/removeEnded(now:)``.
    func removeEnded(now: Int64) async throws
}
