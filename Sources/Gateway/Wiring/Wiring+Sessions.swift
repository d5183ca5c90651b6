internal import Accounts
internal import Clocks
internal import Cryptography
internal import HTTPTypes
internal import Keys
internal import Logging
internal import Pipeline
internal import Sealing
internal import Sessions
internal import Settings
internal import Store

/// Creates the endpoints of Sign in with Apple and of the gateway's own sessions from settings.
extension Wiring {
    /// The enabled session endpoints, in the order of their routes.
    static func sessionOperations(_ settings: GatewaySettings) -> [AccountOperation] {
        guard let apple = settings.signIn.apple else { return [] }
        return SessionEndpoints.operations.filter { operation in
            switch operation {
            case .appleNonce: apple.signIn.serverNonce != .off
            case .appleSignIn: true
            case .appleNotifications: apple.notifications
            default: apple.session != nil
            }
        }
    }

    /// Returns the routes of the session endpoints.
    ///
    /// - Parameter first: the number of the first endpoint.
    static func sessionRoutes(_ settings: GatewaySettings, first: Int) throws(RouteError) -> [Route] {
        guard let apple = settings.signIn.apple else { return [] }
        var routes: [Route] = []
        for operation in sessionOperations(settings) {
            var route = Route(
                name: "gatehouse:\(operation.name)",
                pattern: try RoutePattern("\(apple.prefix)/\(operation.path)"), methods: [operation.method],
                access: operation.bearer.access,
                issuers: Set([apple.session?.issuer].compactMap { $0 }), tokenUses: [.session],
                destination: .endpoint(first + routes.count),
                crossOrigin: apple.crossOrigin)
            route.deniesSuccess = true
            if operation == .appleSignIn { route.forwardsTo = apple.upstream }
            routes.append(route)
        }
        return routes
    }

    /// The dependencies that the sessions' endpoints share with the rest of the gateway.
    struct SessionDependencies {
        var users: any UserRecords & UserSessionRecords
        var ends: SessionEnds
        var keys: SessionKeyService
        /// Seconds since 1970, by the clock of the records.
        var time: @Sendable () -> Int64
        var sealingKeys: SealingKeyRing
        var logger: Logger
    }

    /// - Parameter previous: the sessions in use until now. Their refreshes in progress are joined.
    static func userSessions(
        _ settings: GatewaySettings, _ dependencies: SessionDependencies, after previous: UserSessions?
    ) -> UserSessions? {
        guard let session = settings.signIn.apple?.session, let issuer = settings.sessionIssuer else { return nil }
        return UserSessions(
            issuer: issuer, settings: session, users: dependencies.users, records: dependencies.users,
            keys: dependencies.keys, sealingKeys: dependencies.sealingKeys, revocations: dependencies.ends,
            after: previous, now: dependencies.time,
            random: { SecureRandom.bytes($0) }, logger: dependencies.logger)
    }
}
