internal import Clocks
internal import Cryptography
internal import Curl
internal import Gateway
internal import HTTPClient
package import Keys
package import Logging
internal import NIOCore
package import Pipeline
package import Settings
internal import Store

/// Verifies tokens as a gateway with these settings does, without serving requests.
package struct OfflineVerifier: Sendable {
    /// The verdict on a token.
    package enum Finding: Sendable {
        /// The issuer's name, the token use, and the header lines for the backend as name and value.
        case accepted(issuer: String, use: String, headers: [(name: String, value: String)])
        /// A reason code of ``RejectReason``, of ``PolicyDenial`` or of the gate; and the differences between expected
        /// and actual claims.
        case rejected(reason: String, differences: [TokenDifference])
    }

    private let verifier: FetchingVerifier
    private let rules: OfflineRules
    private let revocations: RevocationList
    private let identity: IdentityLines
    private let now: Int64?

    /// - Parameters:
    ///   - rings: the storage of the gateway's own keys.
    ///   - question: the request and the time for which tokens are verified.
    ///   - curl: fetches the key sets that are not in the state directory.
    /// - Throws: ``StartupError`` if no route can be selected, and for a revocation list that cannot be read.
    init(
        _ settings: GatewaySettings, _ rings: KeyRings, _ question: OfflineQuestion, curl: NIOLoopBound<CurlLoop>,
        logger: Logger
    ) async throws {
        let issuers = settings.trustedIssuers
        rules = try OfflineRules(settings, issuers, question)
        identity = IdentityLines(namespace: settings.identity.namespace, claims: settings.identity.claims)
        now = question.now
        revocations =
            question.looksAtRevocations
            ? try await GatewayState.revocations(settings, now: now ?? WallClock.seconds()) : .empty
        verifier = FetchingVerifier(
            TokenVerifier(issuers: issuers, maximumTokenBytes: settings.limits.tokenBytes),
            services: try await Self.keyServices(settings, rings, issuers, curl, logger))
    }

    /// Runs `body` with a verifier, which can fetch key sets while `body` runs.
    ///
    /// - Throws: ``StartupError``, or the error of `body`.
    package static func with<Value>(
        _ settings: GatewaySettings, _ rings: KeyRings, _ question: OfflineQuestion, logger: Logger,
        _ body: (OfflineVerifier) async throws -> Value
    ) async throws -> Value {
        try await FetchSession.with { session in
            try await body(OfflineVerifier(settings, rings, question, curl: session.curl, logger: logger))
        }
    }

    private static func keyServices(
        _ settings: GatewaySettings, _ rings: KeyRings, _ issuers: [Issuer], _ curl: NIOLoopBound<CurlLoop>,
        _ logger: Logger
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
                // A gateway's own files are read and left unchanged.
                file: KeySetFile(directory: settings.stateDirectory, issuer: issuers[index], isReadOnly: true),
                configured: try Wiring.configuredKeySet(issuers[index]),
                own: issuers[index].keySource == .own ? try await ownKeys(rings) : nil, logger: logger,
                now: { WallClock.seconds() }, publish: { _ in })
            await service.restore()
            services.append(service)
        }
        return services
    }

    /// The current session keys, read without changing anything.
    private static func ownKeys(_ rings: KeyRings) async throws -> @Sendable () -> KeySet? {
        guard let ring = try await rings[.session].read() else { return { nil } }
        let document = AssertionKeys.document(of: try ring.keys.map { try $0.signingKey().publicJSONWebKey })
        let set = try KeySet(
            jwks: document, algorithms: [.es256], origin: .own, generation: KeySetGeneration.next())
        return { set }
    }

    /// Verifies a token. The age of key sets is always evaluated at the current time.
    ///
    /// - Parameter token: the token without the `Bearer` prefix.
    package func examine(_ token: [UInt8]) async -> Finding {
        let now = now ?? WallClock.seconds()
        switch await verifier.examine(token, accepting: rules.acceptance, now: now) {
        case .verified(let verified): return judge(verified, now)
        case .rejected(let reason, let differences):
            return .rejected(reason: reason.rawValue, differences: differences)
        case .keysUnavailable: return .rejected(reason: "keys-unavailable", differences: [])
        }
    }

    /// Checks a verified token in the gate's order.
    private func judge(_ token: VerifiedToken, _ now: Int64) -> Finding {
        if revocations.revokes(token) { return Self.rejected(RejectReason.revoked.rawValue) }
        if let denial = rules.denial(of: token, now: now) { return Self.rejected(denial.rawValue) }
        do {
            let lines = try identity.lines(for: token)
            return .accepted(issuer: token.issuerName, use: token.tokenUse.rawValue, headers: Self.headers(lines))
        } catch {
            return Self.rejected("identity-too-large")
        }
    }

    /// A rejection without claim differences.
    private static func rejected(_ reason: String) -> Finding { .rejected(reason: reason, differences: []) }

    private static func headers(_ lines: [UInt8]) -> [(name: String, value: String)] {
        String(decoding: lines, as: UTF8.self).split(separator: "\r\n").map { line in
            let name = line.prefix { $0 != ":" }
            return (String(name), String(line.dropFirst(name.count + 2)))
        }
    }
}
