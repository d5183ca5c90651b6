internal import Accounts
internal import Clocks
package import Cognito
internal import Cryptography
internal import Encoding
internal import FoundationEssentials
package import HTTPClient
internal import HTTPTypes
internal import Keys
internal import Logging
internal import Pipeline
internal import Proxy
internal import Sealing
internal import Settings
internal import Store

/// Creates the account endpoints from settings.
extension Wiring {
    /// Returns a route for each endpoint of each group of pools, in the order of ``endpoints(_:)``.
    static func accountRoutes(_ settings: GatewaySettings) throws(RouteError) -> [Route] {
        var routes: [Route] = []
        for (number, pools) in AccountGroup.settings(settings).enumerated() {
            let first = pools[0]
            for operation in CognitoAccounts.operations(hasHosted: pools.contains { $0.signIn.hosted != nil }) {
                routes.append(
                    Route(
                        // The routes of the first group have the same names as in a gateway with one pool.
                        name: "gatehouse:\(number == 0 ? "" : "\(first.issuer):")\(operation.name)",
                        pattern: try RoutePattern("\(first.prefix)/\(operation.path)"), methods: [operation.method],
                        access: operation.bearer.access, admitsEndedTokens: operation.bearer == .orEnded,
                        issuers: Set(pools.map(\.issuer)), tokenUses: [.access], destination: .endpoint(routes.count),
                        crossOrigin: first.crossOrigin))
            }
        }
        return routes
    }

    /// The groups of pools with hosted sign-in, each with its number.
    static func hostedGroups(_ settings: GatewaySettings) -> [(number: Int, pools: [CognitoSettings])] {
        AccountGroup.settings(settings).enumerated().map { (number: $0.offset, pools: $0.element) }
            .filter { group in group.pools.contains { $0.signIn.hosted != nil } }
    }

    /// Returns the routes of the authorization server metadata, which are public like the hosted sign-in endpoints.
    static func metadataRoutes(_ settings: GatewaySettings, first: Int) throws(RouteError) -> [Route] {
        var routes: [Route] = []
        for (number, pools) in hostedGroups(settings) {
            routes.append(
                Route(
                    name: "gatehouse:\(number == 0 ? "" : "\(pools[0].issuer):")oauth-metadata",
                    pattern: try RoutePattern(HostedSignInSettings.metadataPath(prefix: pools[0].prefix)),
                    methods: [.get], access: .public, destination: .endpoint(first + routes.count),
                    crossOrigin: pools[0].crossOrigin))
        }
        return routes
    }

    /// The dependencies that the account endpoints of all pools share.
    struct AccountDependencies {
        /// Returns a fetcher, which may fetch without TLS only if `plain` is true.
        var fetcher: (_ plain: Bool) async throws -> any Fetcher
        /// Returns the gateway's own sealing keys, for pools that configure none.
        var sealingKeys: () throws -> SealingKeyRing
        var sessions: any SessionRecords
        var codes: any AuthorizationCodeRecords
        var passwordChanges: PasswordChanges
        /// Seconds since 1970, by the clock of the records.
        var time: @Sendable () -> Int64
        var flow: AccountFlow
        /// Returns the check of a pool's tokens; nil if there is none.
        var tokenCheck: (CognitoSettings) -> SignInTokenCheck? = { _ in nil }
        var revoke: CognitoAccounts.TokenRevocation
        var isRevoked: @Sendable (VerifiedToken) -> Bool
        var hasUnstored: @Sendable () -> Bool = { false }
        var revocationTime: @Sendable () -> Int64
        var logger: Logger
    }

    /// - Parameter previous: the groups in use until now. Their token refreshes in progress are joined, not repeated.
    static func accounts(
        _ settings: GatewaySettings, _ dependencies: AccountDependencies, after previous: [AccountGroup]
    ) async throws -> [AccountGroup] {
        var groups: [AccountGroup] = []
        for pools in AccountGroup.settings(settings) {
            var members: [AccountGroup.Member] = []
            for pool in pools {
                members.append(
                    AccountGroup.Member(
                        hosts: pool.hosts, accounts: try await accounts(pool, settings, dependencies, after: previous)))
            }
            groups.append(AccountGroup(members: members))
        }
        return groups
    }

    private static func accounts(
        _ pool: CognitoSettings, _ settings: GatewaySettings, _ dependencies: AccountDependencies,
        after previous: [AccountGroup]
    ) async throws -> CognitoAccounts {
        var signer: RequestSigner?
        if pool.signIn.flow == .admin {
            let credentials = awsCredentials(try await dependencies.fetcher(true))
            signer = RequestSigner(region: pool.region, credentials: credentials, now: { WallClock.seconds() })
        }
        let known = previous.flatMap(\.members).map(\.accounts)
        return CognitoAccounts(
            settings: pool.signIn,
            sealingKeys: try SealingKeys.ring(pool.sealingKeys) ?? dependencies.sealingKeys(),
            fetcher: try await dependencies.fetcher(pool.isPlain), signer: signer,
            records: dependencies.sessions, codes: dependencies.codes,
            passwordChanges: dependencies.passwordChanges, siblings: try siblings(of: pool, settings, dependencies),
            flow: dependencies.flow, tokenCheck: dependencies.tokenCheck(pool),
            revoke: dependencies.revoke, isRevoked: dependencies.isRevoked, hasUnstored: dependencies.hasUnstored,
            revocationTime: dependencies.revocationTime,
            after: known.first {
                $0.settings.poolID == pool.signIn.poolID && $0.settings.clientID == pool.signIn.clientID
            }, now: dependencies.time, random: { SecureRandom.bytes($0) }, logger: dependencies.logger)
    }

    /// The other app clients of the same pool.
    private static func siblings(
        of pool: CognitoSettings, _ settings: GatewaySettings, _ dependencies: AccountDependencies
    ) throws -> SiblingClients {
        let others = settings.signIn.pools.filter { other in
            other.signIn.poolID == pool.signIn.poolID && other.signIn.clientID != pool.signIn.clientID
        }
        return SiblingClients(
            try others.map { other in
                SiblingClients.Client(
                    app: AppClient(
                        poolID: other.signIn.poolID, clientID: other.signIn.clientID,
                        clientSecret: other.signIn.clientSecret),
                    sealingKeys: try SealingKeys.ring(other.sealingKeys) ?? dependencies.sealingKeys())
            })
    }

    /// Returns the AWS credentials of this machine.
    ///
    /// - Parameter fetcher: a fetcher that allows plain text, because the endpoints of containers and instances do not
    ///   support TLS.
    package static func awsCredentials(_ fetcher: any Fetcher) -> AWSCredentialChain {
        AWSCredentialChain(
            AWSCredentialChain.Dependencies(
                environment: ProcessInfo.processInfo.environment,
                readFile: { try [UInt8](Data(contentsOf: URL(filePath: $0))) }, fetcher: fetcher,
                now: { WallClock.seconds() }))
    }

    /// Returns the values that the gateways of one database share; nil if the state is not shared.
    static func sharedValues(
        _ settings: GatewaySettings, _ records: GatewayRecords, _ ownKeys: GatewayKeys
    ) throws -> SharedValues? {
        guard let shortLived = records.shortLived else { return nil }
        // If the gateway has no sealing keys of its own, all pools configure keys, and these are shared by the gateways
        // too.
        let configured = try settings.signIn.pools.first.flatMap { try SealingKeys.ring($0.sealingKeys) }
        return SharedValues(shortLived, sealingKeys: try ownKeys.sealing ?? configured ?? ownKeys.ownSealingKeys())
    }

    /// Returns the pools that direct calls may use. Former client ids belong to the first pool.
    ///
    /// - Parameter keyServices: the services of all issuers.
    static func directPools(
        _ settings: GatewaySettings, keyServices: [KeySetService],
        fetcher: (_ plain: Bool) async throws -> any Fetcher
    ) async throws -> [DirectCognitoPool] {
        var pools: [DirectCognitoPool] = []
        for pool in settings.signIn.pools {
            let former: Set<String> = pools.isEmpty ? Set(settings.directCognito.clientIDs) : []
            pools.append(
                DirectCognitoPool(
                    settings: pool.signIn, fetcher: try await fetcher(pool.isPlain), formerClientIDs: former,
                    verify: verification(of: pool, former, settings, keyServices)))
        }
        return pools
    }

    /// Returns the verification of the access tokens of translated calls. Cognito verifies them again, so a token whose
    /// issue time is in the future, because this machine's clock is slow, is accepted here. Otherwise its user could
    /// not sign out.
    private static func verification(
        of pool: CognitoSettings, _ formerClientIDs: Set<String>, _ settings: GatewaySettings,
        _ keyServices: [KeySetService]
    ) -> DirectCognitoPool.TokenVerification {
        guard let keys = keyServices.first(where: { $0.issuer.name == pool.issuer }),
            var issuer = settings.trustedIssuers.first(where: { $0.name == pool.issuer })
        else { return { _ in .rejected(.unknownIssuer) } }
        // An API may accept only ID tokens; Cognito accepts access tokens.
        issuer.profile = .cognito(clientIDs: formerClientIDs.union([pool.signIn.clientID]), tokenUses: [.access])
        issuer.allowsFutureIssue = true
        let verifier = FetchingVerifier(
            TokenVerifier(issuers: [issuer], maximumTokenBytes: settings.limits.tokenBytes), services: [keys])
        return { token in
            await verifier.judge(
                token.expose(), accepting: TokenAcceptance(tokenUses: [.access]), now: WallClock.seconds())
        }
    }
}

extension CognitoSettings {
    /// Whether any endpoint of the pool is called without TLS.
    fileprivate var isPlain: Bool { endpoint.isPlain || signIn.hosted?.domain.begins(with: "http://") == true }
}

extension AccountOperation.Bearer {
    var access: Access {
        switch self {
        // The gate does not verify a token that the endpoint verifies itself.
        case .ignored, .judged: .public
        case .required: .required
        case .orEnded: .optional
        }
    }
}

extension AccountGroup {
    /// The configured pools, grouped by prefix, in the order of each group's first pool.
    static func settings(_ settings: GatewaySettings) -> [[CognitoSettings]] {
        var groups: [[CognitoSettings]] = []
        for pool in settings.signIn.pools {
            if let index = groups.firstIndex(where: { $0[0].prefix == pool.prefix }) {
                groups[index].append(pool)
            } else {
                groups.append([pool])
            }
        }
        return groups
    }
}
