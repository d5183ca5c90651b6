internal import Clocks
internal import Cryptography
internal import Curl
internal import Gateway
internal import HTTPClient
package import Keys
package import Logging
internal import NIOCore
internal import Pipeline
package import Settings
internal import Store

/// Judges tokens as a gateway with these settings does, without serving anything.
package struct OfflineVerifier: Sendable {
    /// The verdict on a token.
    package enum Finding: Sendable {
        /// The issuer's name, what the token is for, and what the backend is told: header lines as name and value.
        case accepted(issuer: String, use: String, headers: [(name: String, value: String)])
        /// A reason code: of ``RejectReason``, ``PolicyDenial`` or of the gate.
        case rejected(reason: String)
    }

    private let verifier: TokenVerifier
    private let rules: OfflineRules
    private let revocations: RevocationList
    private let identity: IdentityLines
    private let keyServices: [KeySetService]
    private let now: Int64?

    /// - Parameters:
    ///   - rings: where the gateway's own keys are.
    ///   - question: where the tokens are to be let in, and when.
    ///   - curl: fetches the key sets that the state directory does not hold.
    /// - Throws: ``StartupError`` for a question that no token can answer, and for a list of revocations that can't be
    ///   read.
    init(
        _ settings: GatewaySettings, _ rings: KeyRings, _ question: OfflineQuestion, curl: NIOLoopBound<CurlLoop>,
        logger: Logger
    ) async throws {
        let issuers = settings.trustedIssuers
        rules = try OfflineRules(settings, issuers, question)
        verifier = TokenVerifier(issuers: issuers, maximumTokenBytes: settings.limits.tokenBytes)
        identity = IdentityLines(namespace: settings.identity.namespace, claims: settings.identity.claims)
        now = question.now
        revocations =
            question.looksAtRevocations
            ? try await GatewayState.revocations(settings, now: now ?? WallClock.seconds()) : .empty
        keyServices = try await Self.keyServices(settings, rings, issuers, curl, logger)
    }

    /// Runs `body` with a verifier that may fetch key sets meanwhile.
    ///
    /// - Throws: ``StartupError`` besides what `body` throws.
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

    /// The keys of sessions as they are kept now, read without changing anything.
    private static func ownKeys(_ rings: KeyRings) async throws -> @Sendable () -> KeySet? {
        guard let ring = try await rings[.session].read() else { return { nil } }
        let document = AssertionKeys.document(of: try ring.keys.map { try $0.signingKey().publicJSONWebKey })
        let set = try KeySet(jwks: document, algorithms: [.es256], generation: KeySetGeneration.next())
        return { set }
    }

    /// How old a key set may be is always judged by the present.
    ///
    /// - Parameter token: without `Bearer`.
    package func examine(_ token: [UInt8]) async -> Finding {
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
        verifier.verify(token, accepting: rules.acceptance, keys: { keyServices[$0].currentSet }, now: now)
    }

    /// In the gate's order.
    private func judge(_ token: VerifiedToken, _ now: Int64) -> Finding {
        if revocations.revokes(token) { return .rejected(reason: RejectReason.revoked.rawValue) }
        if let denial = rules.denial(of: token, now: now) { return .rejected(reason: denial.rawValue) }
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
