package import Accounts
internal import Cryptography
package import Encoding
package import Logging
internal import Pipeline
package import Sealing
package import Store

/// The users' consent as Apple has given it to the gateway: refresh tokens of Apple's, sealed, one for each user and
/// app. They let the gateway ask whether a user still consents, and take the consent back when a user is deleted.
package struct AppleGrants: Sendable {
    let client: AppleClient
    let records: any AppleTokenRecords
    let sealingKeys: SealingKeyRing
    /// The message to the outbox by which a consent is taken back.
    let message: @Sendable (AppleRevocation) -> OutboxMessage
    /// How many messages may wait there.
    let limit: Int
    let unused: UnusedGrants
    /// By which other gateways know of grants that are held; nil where there are none.
    let shared: SharedValues?
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    let pause: @Sendable (Duration) async throws -> Void
    let logger: Logger

    /// - Parameters:
    ///   - shared: by which other gateways know of grants that are held; nil where there are none.
    ///   - previous: what served until now, which may hold what Apple gave for a sign-in that is tried again.
    ///   - pause: returns after a time, or throws when the task is cancelled.
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

    /// The refresh token for an authorization code; nil if Apple rejects the code, which does not fail a sign-in with a
    /// good identity token. A sign-in that is tried again gets the token from the first attempt.
    ///
    /// - Parameter proof: SHA-256 of the identity token.
    /// - Throws: 503 where Apple does not take the gateway for what it is: that is for the operator to set right, and
    ///   nothing has been used up yet.
    func exchange(
        _ code: Secret, of identity: AppleIdentity, proof: [UInt8], requestID: String
    ) async throws(Refusal) -> Secret? {
        if let given = await takeHeld(for: proof, requestID: requestID) { return given }
        do {
            let grant = try await client.exchange(code: code, clientID: identity.audience)
            // The code of somebody else's sign-in must not be kept as this user's.
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

    /// A refresh token of Apple's as it is kept. Where it can't be sealed, the sign-in stays good and only the consent
    /// can't be taken back: the next sign-in with a code makes up for it.
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

    /// Keeps a refresh token of Apple's for a user who is known, without a sign-in.
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

    /// Notes that a token was validated, or cannot be. One that was sealed with an earlier key, which does not stay for
    /// ever, is sealed anew.
    ///
    /// - Parameter token: nil for one that does not open.
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

/// A refresh token of Apple's as it is kept: one user's does not open as another's.
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

/// Takes consents back at Apple.
package struct AppleRevoker: Sendable {
    private let client: AppleClient
    private let sealingKeys: SealingKeyRing
    private let logger: Logger

    package init(client: AppleClient, sealingKeys: SealingKeyRing, logger: Logger) {
        self.client = client
        self.sealingKeys = sealingKeys
        self.logger = logger
    }

    /// Revokes a refresh token. A token that Apple does not know any more counts as revoked.
    ///
    /// - Throws: when the call must be tried again.
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

/// A consent that is to be taken back at Apple: what outlasts the user.
package struct AppleRevocation: Sendable, Equatable {
    package var userID: String
    package var clientID: String
    /// The refresh token.
    package var sealed: [UInt8]

    package init(userID: String, clientID: String, sealed: [UInt8]) {
        self.userID = userID
        self.clientID = clientID
        self.sealed = sealed
    }

    /// As the outbox keeps it.
    package var text: String {
        let object: JSONObject = [
            "user_id": .string(userID), "client_id": .string(clientID),
            "token": .string(String(decoding: sealed, as: UTF8.self)),
        ]
        return String(decoding: object.encoded(), as: UTF8.self)
    }

    /// Nil for a text that ``text`` did not make.
    package init?(text: String) {
        guard let object = (try? JSON.parse(Array(text.utf8)))?.objectValue,
            let userID = object["user_id"]?.stringValue, let clientID = object["client_id"]?.stringValue,
            let token = object["token"]?.stringValue
        else { return nil }
        self.init(userID: userID, clientID: clientID, sealed: Array(token.utf8))
    }
}

/// So many messages wait that no consent can be kept to be taken back.
struct AppleRevocationsWaiting: Error {}

extension AppleGrants: UserCompanion {
    /// How a token is taken back whose user goes.
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
