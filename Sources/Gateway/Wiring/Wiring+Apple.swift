internal import Accounts
internal import Clocks
internal import Cryptography
internal import Encoding
package import HTTPClient
internal import Keys
internal import Logging
internal import Pipeline
internal import Sealing
package import Sessions
package import Settings
internal import Store

/// Creates Sign in with Apple from settings.
extension Wiring {
    /// The dependencies that Sign in with Apple shares with the rest of the gateway.
    struct AppleDependencies {
        var keys: any IssuerKeys
        var records: any SingleUseRecords & AppleTokenRecords
        var sealingKeys: SealingKeyRing
        /// The values by which other gateways learn of sign-ins that may be repeated; nil if the state is not shared.
        var shared: SharedValues?
        /// Seconds since 1970, by the clock of the records.
        var time: @Sendable () -> Int64
        /// The queue of grant revocations. Nil if no messages are stored.
        var outbox: Outbox?
        /// The sign-in in use until now.
        var previous: AppleSignIn?
        /// Returns a fetcher, which may fetch without TLS only if `plain` is true.
        var fetcher: (_ plain: Bool) async throws -> any Fetcher
        var logger: Logger
    }

    static func appleSignIn(
        _ settings: GatewaySettings, _ apple: AppleSettings, _ issuer: Issuer,
        _ dependencies: AppleDependencies
    ) async throws -> AppleSignIn {
        let logger = dependencies.logger
        if apple.signIn.forwardsLegacy {
            logger.warning(
                "sign-ins with a userIdentifier and no identity token go to the backend unverified",
                metadata: ["setting": "sign_in.apple.legacy_user_identifier"])
        }
        return AppleSignIn(
            issuer: issuer, settings: apple.signIn, maximumTokenBytes: settings.limits.tokenBytes,
            keys: dependencies.keys, spent: dependencies.records,
            grants: try await grants(apple, dependencies), sealingKeys: dependencies.sealingKeys,
            now: dependencies.time, random: { SecureRandom.bytes($0) }, logger: logger)
    }

    /// Returns the grants; nil if the gateway does not call Apple or stores no messages.
    private static func grants(
        _ apple: AppleSettings, _ dependencies: AppleDependencies
    ) async throws -> AppleGrants? {
        guard let server = apple.server, dependencies.outbox != nil else { return nil }
        return AppleGrants(
            client: try appleClient(server, try await dependencies.fetcher(server.endpoint.isPlain)),
            records: dependencies.records, sealingKeys: dependencies.sealingKeys,
            message: { revocation in
                AppleRevocationReceiver.message(
                    revocation, key: Hexadecimal.encode(SecureRandom.bytes(16)), now: WallClock.milliseconds())
            }, limit: Outbox.limit, shared: dependencies.shared, after: dependencies.previous?.grants,
            now: dependencies.time, logger: dependencies.logger)
    }

    package static func appleClient(_ server: AppleServerSettings, _ fetcher: any Fetcher) throws -> AppleClient {
        let key: P256SigningKey
        do {
            key = try P256SigningKey(pem: server.privateKey)
        } catch {
            throw StartupError(description: "sign_in.apple.server.private_key can't be used")
        }
        var endpoint = server.endpoint.description
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        return AppleClient(
            endpoint: endpoint,
            secret: AppleClientSecret(teamID: server.teamID, keyID: server.keyID, key: key), fetcher: fetcher,
            deadline: server.timeout, now: { WallClock.seconds() })
    }
}

extension KeySetService: IssuerKeys {
    package nonisolated func findKey(_ keyID: String) async {
        // The result does not matter: the caller reads the updated set, if there is one.
        _ = await lookUp(keyID)
    }
}
