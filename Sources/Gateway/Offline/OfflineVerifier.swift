internal import Curl
package import Logging
internal import NIOCore
internal import NIOPosix
internal import Pipeline
package import Settings
internal import Upstream

/// Judges tokens as a gateway with these settings does, without serving anything.
package struct OfflineVerifier: Sendable {
    /// What a token is found to be.
    package enum Finding: Sendable {
        /// The issuer's name, what the token is for, and what the backend is told: header lines as name and value.
        case accepted(issuer: String, use: String, headers: [(name: String, value: String)])
        /// A reason code: of ``RejectReason``, ``PolicyDenial`` or of the gate.
        case rejected(reason: String)
    }

    private let verifier: TokenVerifier
    private let acceptance: TokenAcceptance
    private let requirements: Requirements?
    private let identity: IdentityLines
    private let keyServices: [KeySetService]

    /// - Parameters:
    ///   - route: the route whose rules hold; nil for every issuer, every kind of token and no further requirement.
    ///   - curl: fetches the key sets that the state directory does not hold.
    /// - Throws: ``WiringFault`` for a route that isn't there or looks at no token.
    init(_ settings: GatewaySettings, route: String?, curl: NIOLoopBound<CurlLoop>, logger: Logger) async throws {
        let issuers = Wiring.issuers(settings)
        let rules = try Self.rules(settings, route)
        verifier = TokenVerifier(issuers: issuers, maximumTokenBytes: settings.limits.tokenBytes)
        acceptance = rules.acceptance
        requirements = rules.requirements
        identity = IdentityLines(namespace: settings.identity.namespace, claims: settings.identity.claims)
        keyServices = try await Self.keyServices(settings, issuers, curl, logger)
    }

    /// Runs `body` with a verifier that may fetch key sets meanwhile.
    ///
    /// - Throws: ``WiringFault`` besides what `body` throws.
    package static func with<Value>(
        _ settings: GatewaySettings, route: String?, logger: Logger,
        _ body: (OfflineVerifier) async throws -> Value
    ) async throws -> Value {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let eventLoop = group.next()
        let curl = try await eventLoop.submit {
            NIOLoopBound(try CurlLoop(eventLoop: eventLoop), eventLoop: eventLoop)
        }.get()
        let result = await Result.of {
            try await body(OfflineVerifier(settings, route: route, curl: curl, logger: logger))
        }
        try await eventLoop.submit { curl.value.close() }.get()
        try await group.shutdownGracefully()
        return try result.get()
    }

    private static func rules(
        _ settings: GatewaySettings, _ name: String?
    ) throws -> (acceptance: TokenAcceptance, requirements: Requirements?) {
        guard let name else { return (TokenAcceptance(tokenUses: Set(TokenUse.allCases)), nil) }
        guard let route = settings.routes.first(where: { $0.name == name }) else {
            throw WiringFault(description: "no route is called \"\(name)\"")
        }
        guard route.access != .public else {
            throw WiringFault(description: "the route \"\(name)\" is public and looks at no token")
        }
        let acceptance = TokenAcceptance(
            issuers: Set(route.issuers), tokenUses: Set(route.tokenUses.map(\.tokenUse)))
        return (acceptance, route.requirements)
    }

    private static func keyServices(
        _ settings: GatewaySettings, _ issuers: [Issuer], _ curl: NIOLoopBound<CurlLoop>, _ logger: Logger
    ) async throws -> [KeySetService] {
        var services: [KeySetService] = []
        for (index, policy) in Wiring.keySetPolicies(settings).enumerated() {
            let configured = settings.issuers[index]
            let fetcher = try await curl.eventLoop.submit {
                CurlFetcher(
                    loop: curl.value, allowsPlainText: configured.allowsPlainText,
                    allowsPrivateAddresses: configured.allowsPrivateAddresses)
            }.get()
            let service = KeySetService(
                issuer: issuers[index], policy: policy, fetcher: fetcher,
                // What a gateway keeps is read and left as it is.
                file: KeySetFile(directory: settings.stateDirectory, issuer: issuers[index], isReadOnly: true),
                configured: try Wiring.configuredKeySet(issuers[index]), logger: logger,
                now: { WallClock.seconds() }, publish: { _ in })
            await service.restore()
            services.append(service)
        }
        return services
    }

    /// - Parameters:
    ///   - token: without `Bearer`.
    ///   - now: seconds since 1970 by which its times are judged; nil for the present. How old a key set may be is always
    ///     judged by the present.
    package func examine(_ token: [UInt8], now: Int64? = nil) async -> Finding {
        let now = now ?? WallClock.seconds()
        var verdict = verify(token, now)
        if case .needsKeys(let index, let keyID) = verdict {
            // Whatever came of it, the set that there is then decides.
            _ = await keyServices[index].lookUp(keyID)
            verdict = verify(token, now)
        }
        switch verdict {
        case .verified(let verified): return judge(verified, now)
        case .rejected(let reason): return .rejected(reason: reason.rawValue)
        case .needsKeys(let index, _):
            let isThere = keyServices[index].currentSet != nil
            return .rejected(reason: isThere ? RejectReason.unknownKey.rawValue : "keys-unavailable")
        }
    }

    private func verify(_ token: [UInt8], _ now: Int64) -> Verdict {
        verifier.verify(token, accepting: acceptance, keys: { keyServices[$0].currentSet }, now: now)
    }

    /// What the route requires, but for `{sub}` in its path, since there is no path.
    private func judge(_ token: VerifiedToken, _ now: Int64) -> Finding {
        if let denial = requirements?.lastingDenial(of: token) { return .rejected(reason: denial.rawValue) }
        if requirements?.isRecent(token, now: now) == false {
            return .rejected(reason: PolicyDenial.authenticationTooOld.rawValue)
        }
        do {
            let lines = try identity.lines(for: Identity(token), payload: token.claims)
            return .accepted(issuer: token.issuerName, use: token.tokenUse.rawValue, headers: Self.headers(lines))
        } catch {
            return .rejected(reason: "identity-too-large")
        }
    }

    private static func headers(_ lines: [UInt8]) -> [(name: String, value: String)] {
        String(decoding: lines, as: UTF8.self).split(separator: "\r\n").map { line in
            let name = line.prefix { $0 != ":" }
            return (String(name), String(line.dropFirst(name.count + 2)))
        }
    }
}

extension Result where Failure == any Error {
    /// What `body` returns or throws, for what has to be done in either case.
    fileprivate static func of(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
