package import Accounts
package import Cryptography
internal import Encoding
package import Keys
package import Logging
package import Pipeline
package import Sealing
package import Store

/// The gateway's own sessions: begun by a sign-in, refreshed, and ended.
package struct UserSessions: Sendable {
    /// The issuer with which the gateway verifies the sessions' tokens.
    package let issuer: Issuer
    package let settings: UserSessionSettings
    let users: any UserRecords
    let records: any UserSessionRecords
    let keys: any SessionKeys
    let sealingKeys: SealingKeyRing
    let revocations: any SessionRevocations
    let flights: RefreshFlights<SessionSuccessor>
    let now: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]
    let logger: Logger

    /// - Parameters:
    ///   - previous: the instance before a reload, whose refreshes in progress are joined.
    ///   - now: seconds since 1970.
    ///   - random: returns the requested number of random bytes from a cryptographic source.
    package init(
        issuer: Issuer, settings: UserSessionSettings, users: any UserRecords, records: any UserSessionRecords,
        keys: any SessionKeys, sealingKeys: SealingKeyRing, revocations: any SessionRevocations,
        after previous: UserSessions? = nil, now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8], logger: Logger
    ) {
        self.issuer = issuer
        self.settings = settings
        self.users = users
        self.records = records
        self.keys = keys
        self.sealingKeys = sealingKeys
        self.revocations = revocations
        self.now = now
        self.random = random
        self.logger = logger
        flights = previous?.flights ?? RefreshFlights()
    }
}

/// The revocation of sessions.
package protocol SessionRevocations: Sendable {
    /// The current revocations.
    var current: RevocationList { get }
    /// Whether there are revocations that could not be stored.
    var hasUnstored: Bool { get }
    /// Returns when none of these tokens is accepted any more.
    func revoke(_ revocations: [Revocation]) async throws
    /// Records that a session has a newer token: its predecessors become invalid once it can no longer be requested
    /// again.
    func supersede(_ session: SupersededSession)
}

/// The result of a sign-in.
package struct BegunSession: Sendable {
    package var token: Secret
    package var user: UserRecord
    package var isNew: Bool
    /// The `sid`.
    var id: String
}

extension UserSessions {
    /// A sign-in whose proof of identity has been verified.
    package struct SignIn: Sendable {
        /// The proof that the sign-in uses up; nil if there is none.
        package var proof: UserSignIn.Proof?
        /// The user's issuer and subject, and the attributes for a new user; `id` and `createdAt` are filled in.
        package var user: UserRecord
        package var device: DeviceInfo?
        /// When the user authenticated, in seconds since 1970; nil: now.
        package var authTime: Int64?
        /// The messages for a client whose app does not match the user's role.
        package var roleConflict: RoleConflictMessages
        /// As ``UserSignIn/appleToken``.
        package var appleToken: (@Sendable (_ userID: String) -> AppleTokenRecord?)?

        package init(
            proof: UserSignIn.Proof? = nil, user: UserRecord, device: DeviceInfo? = nil, authTime: Int64? = nil,
            roleConflict: RoleConflictMessages = RoleConflictMessages(),
            appleToken: (@Sendable (_ userID: String) -> AppleTokenRecord?)? = nil
        ) {
            self.proof = proof
            self.user = user
            self.device = device
            self.authTime = authTime
            self.roleConflict = roleConflict
            self.appleToken = appleToken
        }
    }

    /// Performs a sign-in: uses up its proof, finds or creates the user, and begins a session, in one transaction. The
    /// result survives the end of the process.
    package func begin(_ signIn: SignIn, requestID: String) async throws(Refusal) -> BegunSession {
        // Checked before anything is used up.
        guard let key = keys.signing else { throw unavailable(.sessionKeysUnavailable, requestID) }
        let now = now()
        var user = signIn.user
        (user.id, user.createdAt) = (identifier(), now)
        var session = UserSessionRecord(
            id: identifier(), userID: user.id, authTime: min(signIn.authTime ?? now, now),
            deviceID: signIn.device?.deviceID, platform: signIn.device?.platform,
            device: SessionDevice(signIn.device), createdAt: now, refreshedAt: now,
            expiresAt: 0, endsAt: 0)
        bringTimes(of: &session)
        guard session.expiresAt > now else { throw .tokenInvalid(reason: .account(.sessionTooOld)) }
        let step = try await withRecords(requestID) { [user, session] in
            try await records.signIn(
                UserSignIn(proof: signIn.proof, user: user, session: session, appleToken: signIn.appleToken))
        }
        switch step {
        case .signedIn(let user, let isNew):
            session.userID = user.id
            return BegunSession(
                token: try sign(session, user, key, requestID), user: user, isNew: isNew, id: session.id)
        case .replayed: throw AppleSignInError.identityTokenReused.refusal
        case .nonceReused: throw AppleSignInError.nonceReused.refusal
        case .otherRole(let known):
            throw Refusal(
                .roleConflict, message: signIn.roleConflict.message(for: known.role), reason: .account(.roleConflict))
        case .disabled: throw Refusal(.userDisabled, reason: .account(.userDisabled))
        }
    }

    // MARK: Parts

    /// 128 random bits.
    private func identifier() -> String { Hexadecimal.encode(random(16)) }

    func bringTimes(of session: inout UserSessionRecord) {
        session.expiresAt = settings.expiry(authTime: session.authTime, now: session.refreshedAt)
        let end = settings.end(
            authTime: session.authTime, refreshedAt: session.refreshedAt, expiresAt: session.expiresAt)
        // After a restart only the record shows that earlier tokens, possibly with a longer lifetime, are invalid.
        session.endsAt = max(end, session.previousExpiresAt + Issuer.longestSkew)
    }

    func sign(
        _ session: UserSessionRecord, _ user: UserRecord, _ key: AssertionKey, _ requestID: String
    ) throws(Refusal) -> Secret {
        do {
            return try SessionToken.text(of: session, user, issuer, settings.audience, signedWith: key)
        } catch {
            throw unavailable(.sessionNotSigned, requestID)
        }
    }

    /// Runs `work` on the records.
    func withRecords<Value>(_ requestID: String, _ work: () async throws -> Value) async throws(Refusal) -> Value {
        try await usingRecords(requestID, logger, work)
    }

    func unavailable(_ error: AccountError, _ requestID: String) -> Refusal {
        logger.error(
            "sessions cannot be signed", metadata: ["request_id": "\(requestID)", "reason": "\(error.rawValue)"])
        return .retryLater(.serviceUnavailable, after: 5, reason: .account(error))
    }
}
