internal import HTTPClient
internal import Pipeline

/// Asks one server again and again whether it is well, and tells when that has changed.
struct HealthChecker: Sendable {
    private let url: String
    private let settings: HealthCheckSettings
    private let wasHealthy: Bool
    private let fetcher: any Fetcher
    private let sleep: @Sendable (Duration) async throws -> Void
    private let checked: @Sendable (Outcome) -> Void
    private let publish: @Sendable (Bool, Outcome) -> Void

    /// The outcome of one check.
    struct Outcome: Sendable, Equatable {
        var isGood: Bool
        /// The status, or why there was no answer.
        var text: String
    }

    /// - Parameters:
    ///   - wasHealthy: what is known of the server already.
    ///   - fetcher: reaches the server as carried requests do.
    ///   - checked: called after each check.
    ///   - publish: called when the server has become unhealthy or healthy again, with the check that decided it.
    init(
        server: UpstreamServer, settings: HealthCheckSettings, wasHealthy: Bool = true, fetcher: any Fetcher,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        checked: @escaping @Sendable (Outcome) -> Void = { _ in },
        publish: @escaping @Sendable (Bool, Outcome) -> Void
    ) {
        self.url = server.url + settings.path
        self.settings = settings
        self.wasHealthy = wasHealthy
        self.fetcher = fetcher
        self.sleep = sleep
        self.checked = checked
        self.publish = publish
    }

    /// Returns when its task is cancelled.
    func run() async {
        var state = HealthState(
            healthyAfter: settings.healthyAfter, unhealthyAfter: settings.unhealthyAfter, isHealthy: wasHealthy)
        while !Task.isCancelled {
            let outcome = await check()
            guard !Task.isCancelled else { return }
            checked(outcome)
            if state.checked(isGood: outcome.isGood) { publish(state.isHealthy, outcome) }
            do { try await sleep(settings.interval) } catch { return }
        }
    }

    private func check() async -> Outcome {
        // On a kept connection a name that has moved would be asked at its old address for ever, and whether new
        // connections are taken would not be known.
        let request = FetchRequest(
            url: url, headers: [(name: "User-Agent", value: "gatehouse-health")], deadline: settings.timeout,
            needsWholeBody: false, connectsAfresh: true)
        do {
            let status = try await fetcher.fetch(request).status
            return Outcome(isGood: HealthState.isGood(status: status), text: "status \(status)")
        } catch {
            return Outcome(isGood: false, text: "\(error)")
        }
    }
}
