internal import Encoding

/// A user who signs in with Apple, as the gateway keeps them.
package struct UserRecord: Sendable, Equatable {
    /// The gateway's own id, which says nothing of Apple's: the `sub` of its sessions.
    package var id: String
    /// The provider that vouches for the user, and its name for the user: the `iss` and `sub` of the identity tokens.
    /// Nothing else finds a user: no e-mail address ever does.
    package var issuer: String
    package var subject: String
    package var name: String?
    package var email: String?
    package var emailVerified: Bool
    /// Whether the address is one of Apple's that forwards to the user's.
    package var isPrivateEmail: Bool
    /// When the provider said so of the address: of two such words the later one counts, whichever comes first. 0 where
    /// it has not said anything.
    package var emailAsOf: Int64
    package var phoneNumber: String?
    package var role: String?
    /// Seconds since 1970, as all times here.
    package var createdAt: Int64
    /// When the user was locked out by an operator; nil for one who may sign in.
    package var disabledAt: Int64?

    package init(
        id: String, issuer: String, subject: String, name: String? = nil, email: String? = nil,
        emailVerified: Bool = false, isPrivateEmail: Bool = false, emailAsOf: Int64 = 0, phoneNumber: String? = nil,
        role: String? = nil, createdAt: Int64, disabledAt: Int64? = nil
    ) {
        self.id = id
        self.issuer = issuer
        self.subject = subject
        self.name = name
        self.email = email
        self.emailVerified = emailVerified
        self.isPrivateEmail = isPrivateEmail
        self.emailAsOf = emailAsOf
        self.phoneNumber = phoneNumber
        self.role = role
        self.createdAt = createdAt
        self.disabledAt = disabledAt
    }

    /// Whether the user may sign in with an app of this role. Whoever has no role takes the app's. An app has none where
    /// roles are not configured, which takes nobody's away.
    package func mayTake(role appRole: String?) -> Bool {
        guard let role, let appRole else { return true }
        return role.hasSameBytes(as: appRole)
    }
}

/// An e-mail address as an identity provider vouches for it.
package struct VouchedEmail: Sendable, Equatable {
    package var address: String
    package var isVerified: Bool
    package var isPrivate: Bool

    package init(address: String, isVerified: Bool, isPrivate: Bool) {
        self.address = address
        self.isVerified = isVerified
        self.isPrivate = isPrivate
    }
}

/// A change that a user makes of the own data.
package struct UserChange: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case unchanged
        /// Nil removes it.
        case set(String?)
    }

    package var name: Value
    package var phoneNumber: Value

    package init(name: Value = .unchanged, phoneNumber: Value = .unchanged) {
        self.name = name
        self.phoneNumber = phoneNumber
    }
}

/// Where users outlast the process. Each operation is one atomic step.
package protocol UserRecords: Sendable {
    func user(_ id: String) async throws -> UserRecord?

    func user(issuer: String, subject: String) async throws -> UserRecord?

    /// Users whose id, subject, e-mail address or name is or begins with `text`, all for nil, by id from `after` on.
    func users(matching text: String?, after: String, limit: Int) async throws -> [UserRecord]

    /// Another address, as when the provider tells of it; nothing changes where a later word of its is known.
    ///
    /// - Parameter time: when it said so.
    /// - Returns: the user as they are now; nil where there is none.
    func setEmail(_ email: VouchedEmail?, asOf time: Int64, of id: String) async throws -> UserRecord?

    /// Another role. Sessions say what the user was when they were last refreshed: end them as well.
    ///
    /// - Returns: the user as they are now; nil where there is none.
    func setRole(_ role: String?, of id: String) async throws -> UserRecord?

    /// Another name or phone number.
    ///
    /// - Returns: the user as they are now; nil where there is none.
    func change(_ change: UserChange, of id: String) async throws -> UserRecord?

    /// Locks a user out from `time` on; nil lets them in again. It ends no session by itself.
    ///
    /// - Returns: the user as they are now; nil where there is none.
    func setDisabled(at time: Int64?, of id: String) async throws -> UserRecord?

    /// Forgets a user, with all that is kept of them: sessions, Apple's tokens.
    ///
    /// - Parameter handOver: what Apple's tokens that are still there become first; nil where nobody wants them.
    /// - Returns: the user as they were; nil where there was none.
    func delete(_ id: String, handingOver handOver: AppleTokenHandOver?) async throws -> UserRecord?
}

/// Records of things that may be used only once: identity tokens, nonces, messages. Each is stored as a hash until it
/// would have expired anyway.
package protocol SpentRecords: Sendable {
    /// Marks something as used.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of it.
    ///   - endsAt: when it would count no more anyway.
    /// - Returns: false for what was used before.
    func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool

    /// Marks all that a sign-in uses up as used, or nothing.
    func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep

    func isSpent(_ digest: [UInt8]) async throws -> Bool
}

/// The result of using up a proof.
package enum SpendingStep: Sendable, Equatable {
    case spent
    /// The identity token was used before.
    case replayed
    /// The nonce has come back before.
    case nonceReused
}

/// Apple's refresh tokens, sealed by whoever keeps them here: one for each user and app.
package struct AppleTokenRecord: Sendable, Equatable {
    package var userID: String
    /// The app (`client_id`) that it was given to.
    package var clientID: String
    package var token: [UInt8]
    package var storedAt: Int64
    /// When Apple last said that it is good.
    package var validatedAt: Int64

    package init(userID: String, clientID: String, token: [UInt8], storedAt: Int64, validatedAt: Int64) {
        self.userID = userID
        self.clientID = clientID
        self.token = token
        self.storedAt = storedAt
        self.validatedAt = validatedAt
    }
}

/// Turns Apple's token of a deleted user into a message of the outbox.
package typealias AppleTokenHandOver = @Sendable (AppleTokenRecord) -> OutboxMessage

package protocol AppleTokenRecords: Sendable {
    /// Keeps a token in place of the one before; nothing for a user who is gone.
    func keep(_ record: AppleTokenRecord) async throws

    func appleTokens(of userID: String) async throws -> [AppleTokenRecord]

    /// Tokens that were last validated before `time`, those longest ago first. They count as validated at `time + pause`,
    /// so that no two processes ask of one at the same time, and it is asked of once more if nothing is noted.
    func claimAppleTokens(
        validatedBefore time: Int64, pause: Int64, now: Int64, limit: Int
    ) async throws -> [AppleTokenRecord]

    /// Notes when a token was validated, with the text as it is or sealed anew; nothing where another token is there by
    /// now.
    func replace(_ record: AppleTokenRecord, by text: [UInt8], validatedAt time: Int64) async throws

    /// Removes a token, unless another one is in its place by now.
    func remove(_ record: AppleTokenRecord) async throws

    /// Makes messages of a user's tokens, in one step with their removal.
    ///
    /// - Parameter limit: how many messages may wait.
    /// - Returns: false where too many wait; then all is as it was.
    func handOverAppleTokens(
        of userID: String, as message: @escaping AppleTokenHandOver, limit: Int
    ) async throws -> Bool
}
