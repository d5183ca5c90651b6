internal import Cryptography
package import Logging
package import Pipeline
package import Store

/// The users' consent as Apple has given it to the gateway: refresh tokens of Apple's, sealed, one for each user and app.
/// They let the gateway ask whether a user still consents, and take the consent back when a user is deleted.
package struct AppleGrants: Sendable {
    let client: AppleClient
    let records: any AppleTokenRecords
    let sealingKeys: SealingKeyRing
    /// Keeps a consent to be taken back; false where that can't be kept.
    let revokeLater: @Sendable (AppleRevocation) async -> Bool
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    let logger: Logger

    package init(
        client: AppleClient, records: any AppleTokenRecords, sealingKeys: SealingKeyRing,
        revokeLater: @escaping @Sendable (AppleRevocation) async -> Bool, now: @escaping @Sendable () -> Int64,
        logger: Logger
    ) {
        self.client = client
        self.records = records
        self.sealingKeys = sealingKeys
        self.revokeLater = revokeLater
        self.now = now
        self.logger = logger
    }

    /// What an authorization code is worth; nil where it is worth nothing, which takes nothing from who has shown an
    /// identity token as well.
    ///
    /// - Throws: 503 where Apple does not take the gateway for what it is: that is for the operator to set right, and
    ///   nothing has been used up yet.
    func exchange(
        _ code: Secret, of identity: AppleIdentity, requestID: String
    ) async throws(Refusal) -> Secret? {
        do {
            let grant = try await client.exchange(code: code, clientID: identity.audience)
            // The code of somebody else's sign-in must not be kept as this user's.
            guard grant.subject?.hasSameBytes(as: identity.subject) == true else {
                logger.warning("an authorization code was another user's", metadata: ["request_id": "\(requestID)"])
                return nil
            }
            return grant.refreshToken
        } catch {
            report(error, "an authorization code was not exchanged", requestID)
            guard error.kind == .misconfigured else { return nil }
            throw .retryLater(.identityProviderUnavailable, after: 30, reason: error.kind.rawValue)
        }
    }

    /// Keeps a refresh token of Apple's. Where that fails, the sign-in stays good and only the consent can't be taken
    /// back: the next sign-in with a code makes up for it.
    func keep(_ refreshToken: Secret, of user: UserRecord, clientID: String, requestID: String) async {
        do {
            let time = now()
            try await records.keep(
                AppleTokenRecord(
                    userID: user.id, clientID: clientID,
                    token: try SealedAppleToken.seal(
                        refreshToken, userID: user.id, clientID: clientID, with: sealingKeys),
                    keptAt: time, validatedAt: time))
        } catch {
            logger.error(
                "a refresh token of Apple's could not be kept",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
        }
    }

    // MARK: Parts

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

    /// - Throws: where it is to be tried again. What Apple does not know any more is taken back already.
    package func revoke(_ revocation: AppleRevocation) async throws(AppleClientError) {
        let (userID, clientID) = (revocation.userID, revocation.clientID)
        let opened = try? SealedAppleToken.open(
            revocation.sealed, userID: userID, clientID: clientID, with: sealingKeys)
        guard let token = opened else {
            logger.error("a refresh token of Apple's does not open any more and can't be revoked")
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

/// A consent could not be kept to be taken back.
struct AppleRevocationLost: Error {}

extension AppleGrants: UserCompanion {
    package func willDelete(_ user: UserRecord) async throws {
        for record in try await records.appleTokens(of: user.id) {
            let revocation = AppleRevocation(userID: user.id, clientID: record.clientID, sealed: record.token)
            guard await revokeLater(revocation) else { throw AppleRevocationLost() }
        }
    }

    package func held(of user: UserRecord) async throws -> JSONObject {
        let tokens = try await records.appleTokens(of: user.id).map { record in
            JSON.object([
                "client_id": .string(record.clientID), "kept_at": .string(Timestamp.text(record.keptAt)),
                "validated_at": .string(Timestamp.text(record.validatedAt)),
            ])
        }
        return ["apple_tokens": .array(tokens)]
    }
}
