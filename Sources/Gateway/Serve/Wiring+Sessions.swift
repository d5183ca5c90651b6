internal import Cryptography
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Settings
internal import SignIn
internal import Store

/// From settings to sign-in with Apple and the gateway's own sessions.
extension Wiring {
    /// The sessions' endpoints that are served, in the order of their routes.
    static func sessionOperations(_ settings: GatewaySettings) -> [SessionOperation] {
        guard let apple = settings.signIn.apple else { return [] }
        return SessionOperation.allCases.filter { operation in
            switch operation {
            case .nonce: apple.serverNonce != .off
            case .apple: true
            case .notifications: apple.notifications
            case .validate, .refresh, .logout, .deleteMe, .export: apple.session != nil
            }
        }
    }

    /// - Parameter first: how many endpoints come before these.
    static func sessionRoutes(_ settings: GatewaySettings, first: Int) throws(RouteFault) -> [Route] {
        guard let apple = settings.signIn.apple else { return [] }
        var routes: [Route] = []
        for operation in sessionOperations(settings) {
            var route = Route(
                name: "gatehouse:\(operation.rawValue)",
                pattern: try RoutePattern("\(apple.prefix)/\(operation.path)"), methods: [operation.method],
                access: operation.bearer == .required ? .required : .public,
                issuers: Set([apple.session?.issuer].compactMap { $0 }), tokenUses: [.session],
                destination: .endpoint(first + routes.count),
                crossOrigin: apple.crossOrigin.map { CrossOrigin($0, routeMethods: [operation.method.rawValue]) })
            route.deniesSuccess = true
            if operation == .apple { route.forwardsTo = apple.upstream }
            routes.append(route)
        }
        return routes
    }

    /// The issuer of the gateway's own sessions; nil where it keeps none.
    static func sessionIssuer(_ settings: GatewaySettings) -> Issuer? {
        guard let name = settings.signIn.apple?.session?.issuer else { return nil }
        return issuers(settings).first { $0.name == name }
    }

    /// When the keys of sessions change; nil where there are none.
    static func sessionSchedule(_ settings: GatewaySettings) -> RotationSchedule? {
        guard settings.issuers.contains(where: { $0.keySource == .own }) else { return nil }
        let session = settings.signIn.apple?.session
        let day: Int64 = 86_400
        let lifetime = (session?.lifetime ?? .seconds(30 * day)).components.seconds
        let refreshWithin = (session?.refreshWithin ?? .seconds(7 * day)).components.seconds
        return RotationSchedule(
            rotateEvery: (session?.rotateEvery ?? .seconds(30 * day)).components.seconds,
            publishAhead: (session?.publishAhead ?? .seconds(3600)).components.seconds,
            // A token that is exchanged at the last moment must find its key.
            keepPrevious: lifetime + refreshWithin + day)
    }

    /// The dependencies that the sessions' endpoints share with the rest of the gateway.
    struct SessionSurroundings {
        var service: SessionService
        var keys: SessionKeyService
        var logger: Logger
    }

    /// - Parameter previous: what served until now; refreshes that are under way there are joined.
    static func userSessions(
        _ settings: GatewaySettings, _ surroundings: SessionSurroundings, after previous: UserSessions?
    ) throws -> UserSessions? {
        guard let session = settings.signIn.apple?.session, let issuer = sessionIssuer(settings) else { return nil }
        return UserSessions(
            settings: sessionSettings(session, issuer), users: surroundings.service.users,
            records: surroundings.service.users, keys: surroundings.keys,
            sealingKeys: try SealingKeys.ring([], stateDirectory: settings.stateDirectory),
            revocations: surroundings.service.ends, after: previous, now: { WallClock.seconds() },
            random: { SecureRandom.bytes($0) }, logger: surroundings.logger)
    }

    static func sessionSettings(
        _ session: Settings.UserSessionSettings, _ issuer: Issuer
    ) -> SignIn.UserSessionSettings {
        SignIn.UserSessionSettings(
            issuer: issuer, audience: session.audience, lifetime: session.lifetime.components.seconds,
            refreshWithin: session.refreshWithin.components.seconds,
            absoluteLifetime: session.absoluteLifetime.components.seconds,
            idleLifetime: session.idleLifetime.components.seconds)
    }
}
