package import Accounts
internal import Cryptography
package import Encoding
package import Logging
internal import Pipeline
package import Sealing
package import Store

/// The users' consents: Apple's refresh tokens, sealed, one for each user and app. With them the gateway asks whether a
/// user still consents, and withdraws the consent when a user is deleted.
package struct AppleGrants: Sendable {
    let client: AppleClient
    let records: any AppleTokenRecords
    let sealingKeys: SealingKeyRing
    /// Creates the outbox message that withdraws a consent.
    let message: @Sendable (AppleRevocation) -> OutboxMessage
    /// The maximum number of such messages waiting in the outbox.
    let limit: Int
    let unused: UnusedGrants
    /// The values shared with other gateways, which include held grants; nil if there are no other gateways.
    let shared: SharedValues?
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    let pause: @Sendable (Duration) async throws -> Void
    let logger: Logger

    /// - Parameters:
    ///   - shared: the values shared with other gateways, which include held grants; nil if there are no other
    ///     gateways.
    ///   - previous: the instance before a reload, which may hold grants of sign-ins to be retried.
    ///   - pause: returns after a duration, or throws when the task is cancelled.
    package init(
        client: AppleClient, records: any AppleTokenRecords, sealingKeys: SealingKeyRing,
        message: @escaping @Sendable (AppleRevocation) -> OutboxMessage, limit: Int,
        shared: SharedValues? = nil, after previous: AppleGrants? = nil, now: @escaping @Sendable () -> Int64,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, logger: Logger
    ) {
        unused = previous?.unused ?? UnusedGrants()
        self.client = client
        self.records = records
        self.sealingKeys = sealingKeys
        self.message = message
        self.limit = limit
        self.shared = shared
        self.pause = pause
        self.now = now
        self.logger = logger
    }

    /// Returns the refresh token for an authorization code; nil if Apple rejects the code, which does not fail a
    /// sign-in with a valid identity token. A retried sign-in gets the token from the first attempt.
    ///
    /// - Parameter proof: SHA-256 of the identity token.
    /// - Throws: 503 if Apple rejects the gateway's own credentials: the operator must correct this, and nothing has
    ///   been used up yet.
    func exchange(
        _ code: Secret, of identity: AppleIdentity, proof: [UInt8], requestID: String
    ) async throws(Refusal) -> Secret? {
        if let given = await takeHeld(for: proof, requestID: requestID) { return given }
        do {
            let grant = try await client.exchange(code: code, clientID: identity.audience)
            // The code of another user's sign-in must not be stored as this user's.
            guard grant.subject?.hasSameBytes(as: identity.subject) == true else {
                logger.warning(
                    "an authorization code belongs to another user", metadata: ["request_id": "\(requestID)"])
                return nil
            }
            return grant.refreshToken
        } catch {
            report(error, "an authorization code was not exchanged", requestID)
            guard error.kind == .misconfigured else { return nil }
            throw .retryLater(.identityProviderUnavailable, after: 30, reason: .appleClient(error.kind))
        }
    }

    /// Returns the stored form of an Apple refresh token; nil if it cannot be sealed. The sign-in then remains valid,
    /// and only the consent cannot be withdrawn, until the next sign-in with a code.
    func record(
        of refreshToken: Secret, userID: String, clientID: String, requestID: String
    ) -> AppleTokenRecord? {
        do {
            let time = now()
            return AppleTokenRecord(
                userID: userID, clientID: clientID,
                token: try SealedAppleToken.seal(refreshToken, userID: userID, clientID: clientID, with: sealingKeys),
                storedAt: time, validatedAt: time)
        } catch {
            reportNotStored(error, requestID)
            return nil
        }
    }

    /// Stores an Apple refresh token for a known user, without a sign-in.
    func keep(_ refreshToken: Secret, of user: UserRecord, clientID: String, requestID: String) async {
        guard let record = record(of: refreshToken, userID: user.id, clientID: clientID, requestID: requestID) else {
            return
        }
        do {
            try await records.keep(record)
        } catch {
            reportNotStored(error, requestID)
        }
    }

    /// Stores that a token was validated, or cannot be opened. One that was sealed with an earlier key is sealed again,
    /// since that key will be removed.
    ///
    /// - Parameter token: nil if it does not open.
    func noteValidated(_ record: AppleTokenRecord, _ token: Secret?) async {
        do {
            var text = record.token
            if let token, !SealedText.isCurrent(Secret(text), sealingKeys) {
                text = try SealedAppleToken.seal(
                    token, userID: record.userID, clientID: record.clientID, with: sealingKeys)
            }
            try await records.replace(record, by: text, validatedAt: now())
        } catch {
            guard !Task.isCancelled else { return }
            reportNotStored(error)
        }
    }

    // MARK: Parts

    private func reportNotStored(_ error: any Error, _ requestID: String? = nil) {
        var metadata: Logger.Metadata = ["error": "\(error)"]
        metadata["request_id"] = requestID.map { "\($0)" }
        logger.error("an Apple refresh token could not be stored", metadata: metadata)
    }

    func report(_ error: AppleClientError, _ what: Logger.Message, _ requestID: String? = nil) {
        var metadata: Logger.Metadata = ["error": "\(error.name)", "reason": "\(error.kind.rawValue)"]
        metadata["request_id"] = requestID.map { "\($0)" }
        if error.kind == .misconfigured {
            metadata["setting"] = "sign_in.apple.server"
            logger.error(what, metadata: metadata)
        } else {
            logger.warning(what, metadata: metadata)
        }
    }
}

/// The stored form of an Apple refresh token, bound to the user and the app.
enum SealedAppleToken {
    static func seal(
        _ token: Secret, userID: String, clientID: String, with keys: SealingKeyRing
    ) throws(SealingFailure) -> [UInt8] {
        try SealedText.seal(token.expose(), as: .appleToken, with: keys, poolID: binding(userID, clientID)).expose()
    }

    static func open(
        _ sealed: [UInt8], userID: String, clientID: String, with keys: SealingKeyRing
    ) throws(InvalidSealedToken) -> Secret {
        Secret(
            try SealedText.open(Secret(sealed), as: .appleToken, with: keys, poolID: binding(userID, clientID)))
    }

    private static func binding(_ userID: String, _ clientID: String) -> String { "\(userID)\0\(clientID)" }
}

/// Withdraws consents at Apple.
package struct AppleRevoker: Sendable {
    private let client: AppleClient
    private let sealingKeys: SealingKeyRing
    private let logger: Logger

    package init(client: AppleClient, sealingKeys: SealingKeyRing, logger: Logger) {
        self.client = client
        self.sealingKeys = sealingKeys
        self.logger = logger
    }

    /// Revokes a refresh token. A token unknown to Apple counts as revoked.
    ///
    /// - Throws: if the call must be retried.
    package func revoke(_ revocation: AppleRevocation) async throws(AppleClientError) {
        let (userID, clientID) = (revocation.userID, revocation.clientID)
        let opened = try? SealedAppleToken.open(
            revocation.sealed, userID: userID, clientID: clientID, with: sealingKeys)
        guard let token = opened else {
            // Another gateway may have sealed it with a key that this one has not read yet.
            guard !sealingKeys.lacksKey(of: Secret(revocation.sealed)) else {
                throw AppleClientError(.unavailable, "unknown-sealing-key")
            }
            logger.error("an Apple refresh token cannot be unsealed and is not revoked")
            return
        }
        do {
            try await client.revoke(refreshToken: token, clientID: clientID)
        } catch {
            guard error.kind == .invalidGrant || error.kind == .refused else { throw error }
        }
    }
}

/// A consent to be withdrawn at Apple, stored beyond the deletion of the user.
package struct AppleRevocation: Sendable, Equatable {
    package var userID: String
    package var clientID: String
    /// The refresh token, sealed.
    package var sealed: [UInt8]

    package init(userID: String, clientID: String, sealed: [UInt8]) {
        self.userID = userID
        self.clientID = clientID
        self.sealed = sealed
    }

    /// The form stored in the outbox.
    package var text: String {
        let object: JSONObject = [
            "user_id": .string(userID), "client_id": .string(clientID),
            "token": .string(String(decoding: sealed, as: UTF8.self)),
        ]
        return String(decoding: object.encoded(), as: UTF8.self)
    }

    /// Nil if the text was not created by ``text``.
    package init?(text: String) {
        guard let object = (try? JSON.parse(Array(text.utf8)))?.objectValue,
            let userID = object["user_id"]?.stringValue, let clientID = object["client_id"]?.stringValue,
            let token = object["token"]?.stringValue
        else { return nil }
        self.init(userID: userID, clientID: clientID, sealed: Array(token.utf8))
    }
}

/// Too many messages wait for another consent's withdrawal to be stored.
struct AppleRevocationsWaiting: Error {}

extension AppleGrants: UserCompanion {
    /// Creates the outbox message for the token of a deleted user.
    var handOver: AppleTokenHandOver {
        { [message] record in
            message(AppleRevocation(userID: record.userID, clientID: record.clientID, sealed: record.token))
        }
    }

    package func willDelete(_ user: UserRecord) async throws {
        guard try await records.handOverAppleTokens(of: user.id, as: handOver, limit: limit) else {
            throw AppleRevocationsWaiting()
        }
    }

    package func export(of user: UserRecord) async throws -> JSONObject {
        let tokens = try await records.appleTokens(of: user.id).map { record in
            JSON.object([
                "client_id": .string(record.clientID), "kept_at": .string(Timestamp.text(record.storedAt)),
                "validated_at": .string(Timestamp.text(record.validatedAt)),
            ])
        }
        return ["apple_tokens": .array(tokens)]
    }
}
