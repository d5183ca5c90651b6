internal import Encoding

/// A stored user who signs in with Apple.
package struct UserRecord: Sendable, Equatable {
    /// The gateway's own id, which reveals nothing about Apple's: the `sub` of its sessions.
    package var id: String
    /// The identity provider and its id for the user: the `iss` and `sub` of the identity tokens. Users are identified
    /// by nothing else, and never by e-mail address.
    package var issuer: String
    package var subject: String
    package var name: String?
    package var email: String?
    package var emailVerified: Bool
    /// Whether the address is one of Apple's relay addresses.
    package var isPrivateEmail: Bool
    /// When the provider stated the address: the later of two statements applies, regardless of the order of arrival. 0
    /// if it has made none.
    package var emailAsOf: Int64
    package var phoneNumber: String?
    package var role: String?
    /// Seconds since 1970, as all times here.
    package var createdAt: Int64
    /// When an operator disabled the user; nil if the user may sign in.
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

    /// Whether the user may sign in with an app of this role. A user without a role takes the app's. An app has no role
    /// if roles are not configured; users then keep theirs.
    package func mayTake(role appRole: String?) -> Bool {
        guard let role, let appRole else { return true }
        return role.hasSameBytes(as: appRole)
    }
}

/// An e-mail address with an identity provider's statements about it.
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

/// A change that users make to their own data.
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

/// Persistent storage of users. Each operation is atomic.
package protocol UserRecords: Sendable {
    func user(_ id: String) async throws -> UserRecord?

    func user(issuer: String, subject: String) async throws -> UserRecord?

    /// Users whose id or subject equals `text`, or whose e-mail address or name begins with it; all users if nil.
    /// Sorted by id, after `after`.
    func users(matching text: String?, after: String, limit: Int) async throws -> [UserRecord]

    /// Sets the address, as when the provider reports a change. Nothing changes if a later statement is stored.
    ///
    /// - Parameter time: when the provider made the statement.
    /// - Returns: the user after the change; nil if there is none.
    func setEmail(_ email: VouchedEmail?, asOf time: Int64, of id: String) async throws -> UserRecord?

    /// Sets the role. Sessions contain the role from their last refresh: end them as well.
    ///
    /// - Returns: the user after the change; nil if there is none.
    func setRole(_ role: String?, of id: String) async throws -> UserRecord?

    /// Sets the name or phone number.
    ///
    /// - Returns: the user after the change; nil if there is none.
    func change(_ change: UserChange, of id: String) async throws -> UserRecord?

    /// Disables a user from `time` on; nil enables them again. It ends no session.
    ///
    /// - Returns: the user after the change; nil if there is none.
    func setDisabled(at time: Int64?, of id: String) async throws -> UserRecord?

    /// Deletes a user and all records of them: sessions and Apple tokens.
    ///
    /// - Parameter handOver: turns remaining Apple tokens into messages first; nil: they are only deleted.
    /// - Returns: the user before the deletion; nil if there was none.
    func delete(_ id: String, handingOver handOver: AppleTokenHandOver?) async throws -> UserRecord?
}

/// Records of single-use values: identity tokens, nonces, messages. Each is stored as a hash until the value would have
/// expired anyway.
package protocol SingleUseRecords: Sendable {
    /// Marks a value as used.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the value.
    ///   - endsAt: when the value expires anyway.
    /// - Returns: false if it was already used.
    func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool

    /// Marks everything that a sign-in uses up as used, or nothing.
    func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep

    func isSpent(_ digest: [UInt8]) async throws -> Bool
}

/// The result of using up a proof.
package enum SpendingStep: Sendable, Equatable {
    case spent
    /// The identity token was already used.
    case replayed
    /// The nonce was already used.
    case nonceReused
}

/// A refresh token of Apple's, sealed by the caller: one for each user and app.
package struct AppleTokenRecord: Sendable, Equatable {
    package var userID: String
    /// The app (`client_id`) that it was issued to.
    package var clientID: String
    package var token: [UInt8]
    package var storedAt: Int64
    /// When Apple last confirmed that it is valid.
    package var validatedAt: Int64

    package init(userID: String, clientID: String, token: [UInt8], storedAt: Int64, validatedAt: Int64) {
        self.userID = userID
        self.clientID = clientID
        self.token = token
        self.storedAt = storedAt
        self.validatedAt = validatedAt
    }
}

/// Turns the Apple token of a deleted user into an outbox message.
package typealias AppleTokenHandOver = @Sendable (AppleTokenRecord) -> OutboxMessage

package protocol AppleTokenRecords: Sendable {
    /// Stores a token in place of the previous one; does nothing if the user was deleted.
    func keep(_ record: AppleTokenRecord) async throws

    func appleTokens(of userID: String) async throws -> [AppleTokenRecord]

    /// Returns tokens last validated before `time`, the oldest validation first. They count as validated at `time +
    /// pause`: no two processes validate one at the same time, and it is validated again if no result is stored.
    func claimAppleTokens(
        validatedBefore time: Int64, pause: Int64, now: Int64, limit: Int
    ) async throws -> [AppleTokenRecord]

    /// Stores when a token was validated, with the text unchanged or sealed anew; does nothing if the stored token is
    /// another one by now.
    func replace(_ record: AppleTokenRecord, by text: [UInt8], validatedAt time: Int64) async throws

    /// Removes a token, unless another one has replaced it.
    func remove(_ record: AppleTokenRecord) async throws

    /// Turns a user's tokens into messages and removes them, atomically.
    ///
    /// - Parameter limit: the maximum number of waiting messages.
    /// - Returns: false, with nothing changed, if too many are waiting.
    func handOverAppleTokens(
        of userID: String, as message: @escaping AppleTokenHandOver, limit: Int
    ) async throws -> Bool
}
