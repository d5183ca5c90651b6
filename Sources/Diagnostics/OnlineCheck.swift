internal import Clocks
internal import Cognito
internal import Cryptography
internal import Encoding
internal import Gateway
internal import HTTPClient
internal import Keys
internal import Pipeline
internal import Sessions
package import Settings
internal import Upstream

/// Checks that everything that the settings refer to is reachable and correct: the shared database, key sets, Cognito,
/// Apple and upstreams.
///
/// The checks run concurrently, each with the timeout that the gateway itself would use. They change no account and
/// reveal no secret.
package struct OnlineCheck: Sendable {
    /// The result of one check.
    package struct Finding: Sendable {
        /// The key path in the settings, such as `issuers.users`.
        package var subject: String
        package var isGood: Bool
        package var text: String
        package var duration: Duration
    }

    struct Probe: Sendable {
        var subject: String
        var ask: @Sendable () async -> (isGood: Bool, text: String)
    }

    let settings: GatewaySettings

    package init(_ settings: GatewaySettings) {
        self.settings = settings
    }

    /// - Parameters:
    ///   - begin: called with the subjects of all findings to come.
    ///   - report: called with each finding as soon as it is available.
    /// - Returns: all findings, in the order of the settings.
    package func run(
        begin: ([String]) -> Void = { _ in }, report: (Finding) -> Void = { _ in }
    ) async throws -> [Finding] {
        try await FetchSession.with { session in
            let accounts = try await poolProbes(session) + appleProbes(session)
            let probes = try await stateProbes() + issuerProbes(session) + accounts + upstreamProbes(session)
            begin(probes.map(\.subject))
            return await withTaskGroup(of: (Int, Finding).self) { tasks in
                for (index, probe) in probes.enumerated() { tasks.addTask { (index, await Self.ask(probe)) } }
                var findings: [(Int, Finding)] = []
                for await (index, finding) in tasks {
                    report(finding)
                    findings.append((index, finding))
                }
                return findings.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
    }

    private static func ask(_ probe: Probe) async -> Finding {
        let started = ContinuousClock.now
        let (isGood, text) = await probe.ask()
        return Finding(
            subject: probe.subject, isGood: isGood, text: text, duration: ContinuousClock.now - started)
    }

    // MARK: Key sets

    private func issuerProbes(_ session: FetchSession) async throws -> [Probe] {
        var probes: [Probe] = []
        for (issuer, configured) in zip(settings.trustedIssuers, settings.issuers) {
            let subject = "issuers.\(issuer.name)"
            if case .own = issuer.keySource {
                probes.append(Probe(subject: subject) { (true, "this gateway's own keys") })
                continue
            }
            if let keys = try Wiring.configuredKeySet(issuer) {
                probes.append(Probe(subject: subject) { (true, "\(keys.count) keys in the settings") })
                continue
            }
            let fetch = KeySetFetch(
                issuer: issuer,
                fetcher: try await session.fetcher(
                    plain: configured.allowsPlainText, privately: configured.allowsPrivateAddresses))
            let (timeout, maximum) = (settings.keySets.timeout, settings.keySets.maximumBytes)
            probes.append(
                Probe(subject: subject) {
                    do throws(KeySetFetch.Failure) {
                        let (set, response) = try await fetch.fetch(timeout: timeout, maximumBytes: maximum)
                        let difference = ClockDifference(response, now: WallClock.seconds())
                        let isGood = difference.isWithin(issuer.skew)
                        let clock = isGood ? "" : "; \(difference), which clock_skew does not allow for"
                        return (isGood, "\(set.count) keys from \(issuer.keySource.place)\(clock)")
                    } catch {
                        return (false, "no keys from \(issuer.keySource.place): \(error.reason)")
                    }
                })
        }
        return probes
    }

    // MARK: Cognito

    private func poolProbes(_ session: FetchSession) async throws -> [Probe] {
        var probes: [Probe] = []
        for (index, pool) in settings.signIn.pools.enumerated() {
            let isFirst = index == 0 && settings.signIn.cognito != nil
            let number = index - (settings.signIn.cognito == nil ? 0 : 1)
            let subject = isFirst ? "sign_in.cognito" : "sign_in.more_pools[\(number)]"
            let client = CognitoClient(
                endpoint: pool.endpoint.description, fetcher: try await session.fetcher(plain: pool.endpoint.isPlain),
                deadline: pool.signIn.deadline)
            probes.append(Probe(subject: subject) { await Self.ask(client, of: pool) })
            probes.append(try await writeProbe(subject, pool, session))
        }
        return probes
    }

    /// Confirms the sign-up of a user that does not exist. Cognito checks the client id and secret first, and the user
    /// only afterwards. No trigger runs, and no message is sent.
    private static func ask(
        _ client: CognitoClient, of pool: CognitoSettings
    ) async -> (isGood: Bool, text: String) {
        let username = "gatehouse-check-" + Hexadecimal.encode(SecureRandom.bytes(16))
        var input: JSONObject = [
            "ClientId": .string(pool.signIn.clientID), "Username": .string(username), "ConfirmationCode": "000000",
        ]
        input["SecretHash"] = pool.signIn.clientSecret.map {
            .string(secretHash(username: username, clientID: pool.signIn.clientID, clientSecret: $0))
        }
        do throws(CognitoError) {
            _ = try await client.call(.confirmSignUp, input)
        } catch {
            if let reason = error.noAnswer { return (false, "\(pool.endpoint): \(reason)") }
            switch error.kind {
            case .clientSecretRefused: return (false, "\(pool.endpoint): client_secret is not the app client's")
            case .clientUnknown: return (false, "\(pool.endpoint): there is no app client with this client_id")
            case .unavailable, .blockedByFirewall, .poolMisconfigured, .unsupportedOperation, .other:
                return (false, "\(pool.endpoint): \(error.kind.rawValue) (\(error.type))")
            default: break
            }
        }
        return (true, "\(pool.endpoint) knows the app client and takes its secret")
    }

    // MARK: Apple

    /// Returns a probe for each app with Sign in with Apple; empty if the gateway does not call Apple.
    private func appleProbes(_ session: FetchSession) async throws -> [Probe] {
        guard let apple = settings.signIn.apple, let server = apple.server,
            case .apple(let apps)? = settings.issuers.first(where: { $0.name == apple.issuer })?.rules
        else { return [] }
        let client = try Wiring.appleClient(server, try await session.fetcher(plain: server.endpoint.isPlain))
        return apps.map { app in
            Probe(subject: "sign_in.apple.server") { await Self.ask(client, app, at: server) }
        }
    }

    /// Exchanges an authorization code that Apple never issued. Apple checks the client id and secret first, and the
    /// code only afterwards (RFC 6749, 5.2). Nothing changes.
    private static func ask(
        _ client: AppleClient, _ app: String, at server: AppleServerSettings
    ) async -> (isGood: Bool, text: String) {
        let code = Secret("gatehouse-check-" + Hexadecimal.encode(SecureRandom.bytes(16)))
        do throws(AppleClientError) {
            _ = try await client.exchange(code: code, clientID: app)
            return (false, "\(server.endpoint): gives tokens for a code that nobody was given")
        } catch {
            if let reason = error.noAnswer { return (false, "\(server.endpoint): \(reason)") }
            switch error.kind {
            case .invalidGrant: return (true, "\(server.endpoint) knows \(app) and takes its client secret")
            case .misconfigured:
                let settings = "team_id, key_id and private_key, and whether the key is for this app"
                return (false, "\(server.endpoint) refuses \(app) (\(error.name)): see \(settings)")
            case .refused, .unavailable: return (false, "\(server.endpoint): \(error.kind.rawValue) (\(error.name))")
            }
        }
    }

    // MARK: Upstreams

    private func upstreamProbes(_ session: FetchSession) async throws -> [Probe] {
        var probes: [Probe] = []
        for upstream in settings.upstreams.map(\.upstream) {
            for server in upstream.servers {
                let fetcher = try await session.fetcher(plain: true, access: server.access)
                probes.append(
                    Probe(subject: "upstreams.\(upstream.name)") { await Self.ask(server, of: upstream, fetcher) })
            }
        }
        return probes
    }

    /// Requests the path of the server's health checks. Without health checks any response is good, because the status
    /// at `/` is unknown.
    private static func ask(
        _ server: UpstreamServer, of upstream: UpstreamSettings, _ fetcher: CurlFetcher
    ) async -> (isGood: Bool, text: String) {
        let check = upstream.healthCheck
        let request = FetchRequest(
            url: server.url + (check?.path ?? "/"), headers: [(name: "User-Agent", value: "gatehouse-check")],
            deadline: check?.timeout ?? min(upstream.timeouts.connect, .seconds(5)))
        do throws(FetchError) {
            let status = try await fetcher.fetch(request).status
            let isGood = check == nil || HealthCheckSettings.isGood(status: status)
            return (isGood, "\(server.name) responds with \(status)\(check.map { " at \($0.path)" } ?? "")")
        } catch {
            // A response that is too large is still a response.
            if case .responseTooLarge = error { return (true, "\(server.name) responds") }
            return (false, "\(server.name): \(error)")
        }
    }
}
