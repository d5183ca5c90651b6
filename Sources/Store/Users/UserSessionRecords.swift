internal import Pipeline

/// A stored session of a user: a chain of tokens, the newest of which is valid.
package struct UserSessionRecord: Sendable, Equatable {
    /// The tokens' `sid`.
    package var id: String
    package var userID: String
    /// The number of the newest token; the first one's is 0.
    package var rotation: Int64
    /// The newest token, sealed, for a client that repeats the request with the previous one.
    package var successor: [UInt8]?
    /// Until when the newest token may be requested again after its regular window has closed, because a process that
    /// ended may not have sent it (``RetryWindows``). 0 if it may not.
    package var retryUntil: Int64
    /// When the user proved who they are. Seconds since 1970, as all times here.
    package var authTime: Int64
    package var deviceID: String?
    package var platform: String?
    package var device: SessionDevice
    package var createdAt: Int64
    /// When the newest token was made.
    package var refreshedAt: Int64
    /// When the newest token and the previous one expire.
    package var expiresAt: Int64
    package var previousExpiresAt: Int64
    /// When the newest token can no longer be refreshed.
    package var endsAt: Int64
    /// When the session was ended; nil if it is active.
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

/// The effects of a sign-in, applied atomically.
package struct UserSignIn: Sendable {
    /// A single-use value.
    package struct Spent: Sendable {
        /// SHA-256 of the value.
        package var digest: [UInt8]
        /// When the value expires anyway.
        package var endsAt: Int64

        package init(digest: [UInt8], endsAt: Int64) {
            self.digest = digest
            self.endsAt = endsAt
        }
    }

    /// The proof that a sign-in uses up: the identity token, and a nonce that the gateway issued.
    package struct Proof: Sendable {
        /// SHA-256 of the identity token.
        package var digest: [UInt8]
        /// When the identity token expires anyway.
        package var endsAt: Int64
        /// A nonce that the gateway issued; nil if there is none.
        package var nonce: Spent?

        package init(digest: [UInt8], endsAt: Int64, nonce: Spent? = nil) {
            self.digest = digest
            self.endsAt = endsAt
            self.nonce = nonce
        }
    }

    /// Nil if nothing is used up.
    package var proof: Proof?
    /// The user to create if the issuer and subject are unknown. For a known user the role must fit
    /// (``UserRecord/mayTake(role:)``) and is stored if there was none; a given e-mail address replaces the previous
    /// one.
    package var user: UserRecord
    /// Its `userID` is replaced by that of the user found.
    package var session: UserSessionRecord
    /// Apple's refresh token from this sign-in, for the user found; nil if there is none.
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
    /// The identity token was already used.
    case replayed
    /// The nonce was already used.
    case nonceReused
    /// The user has another role.
    case otherRole(UserRecord)
    case disabled(UserRecord)
}

/// The result of advancing a session by one refresh.
package enum UserSessionStep: Sendable, Equatable {
    /// The record is now the session's.
    case taken
    /// Another caller advanced the session first, or it cannot be advanced. The stored session; nil if it is no longer
    /// stored.
    case overtaken(UserSessionRecord?)
}

/// A session whose newest token has replaced another one.
package struct SupersededSession: Sendable, Equatable {
    package var id: String
    /// Tokens before this one are no longer valid.
    package var rotation: Int64
    package var refreshedAt: Int64
    /// The latest `exp` of the replaced tokens. Gateways accept a token beyond it by the clock skew.
    package var expiresAt: Int64

    /// For how many seconds after ``expiresAt`` a full reading includes a session: the longest clock skew, plus an hour
    /// for gateways whose clock is behind.
    package static let grace = 3600 + Issuer.longestSkew

    package init(id: String, rotation: Int64, refreshedAt: Int64, expiresAt: Int64) {
        self.id = id
        self.rotation = rotation
        self.refreshedAt = refreshedAt
        self.expiresAt = expiresAt
    }
}

/// Sessions with replaced tokens that are new to a follower.
package struct SupersededReading: Sendable {
    package var sessions: [SupersededSession]
    /// The position of the next reading.
    package var position: ChangePosition

    package init(sessions: [SupersededSession], position: ChangePosition) {
        self.sessions = sessions
        self.position = position
    }
}

/// Persistent storage of users' sessions. Each operation is atomic.
package protocol UserSessionRecords: Sendable {
    /// Performs a sign-in.
    func signIn(_ signIn: UserSignIn) async throws -> UserSignInStep

    func session(_ id: String) async throws -> (session: UserSessionRecord, user: UserRecord)?

    /// Advances a session to this token, if the session is active and its rotation is lower. The latest time at which a
    /// replaced token expires is stored, of the record's and the stored ones.
    func advance(to record: UserSessionRecord) async throws -> UserSessionStep

    /// Reissues the newest token with new times, under the same number, if the session is active and has not advanced
    /// since it was read.
    ///
    /// - Parameters:
    ///   - known: the session as it was read.
    ///   - record: the same session with a new successor and new times.
    func renew(_ known: UserSessionRecord, as record: UserSessionRecord) async throws -> UserSessionStep

    /// - Returns: whether this call ended it.
    func end(_ id: String, at now: Int64) async throws -> Bool

    /// Ends all of a user's sessions.
    ///
    /// - Returns: the sessions that this call ended, as they were before.
    func endAll(of userID: String, at now: Int64) async throws -> [UserSessionRecord]

    /// Whether at least `count` of a user's stored sessions have been ended.
    func hasEnded(atLeast count: Int, of userID: String) async throws -> Bool

    /// All stored sessions of a user, oldest first.
    func sessions(of userID: String) async throws -> [UserSessionRecord]

    /// Sessions with tokens replaced by any process since a position, oldest first. Without a position: all whose
    /// replaced tokens a gateway may still accept (``SupersededSession/grace``), and of more than `limit` the
    /// longest-lived. A position is valid for ``RetryWindows/window`` seconds: after that, a session no longer shows a
    /// change.
    func superseded(since position: ChangePosition?, now: Int64, limit: Int) async throws -> SupersededReading

    /// Deletes sessions whose last token has expired, tokens that may no longer be requested, and expired records of
    /// single use.
    ///
    /// - Parameter now: as in ``SessionRecords/removeEnded(now:)``.
    func removeEnded(now: Int64) async throws
}
