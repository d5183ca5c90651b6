internal import HTTPClient
internal import Pipeline

/// Checks the health of one server periodically, and reports changes.
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
        /// The status, or the reason for a missing response.
        var text: String
    }

    /// - Parameters:
    ///   - wasHealthy: the server's last known state.
    ///   - fetcher: a fetcher that reaches the server in the same way as proxied requests.
    ///   - checked: called after each check.
    ///   - publish: called when the server becomes unhealthy or healthy again, with the check that caused the change.
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

    /// Runs the checks until its task is cancelled.
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
        // A reused connection would keep checking the old address of a name that has moved, and would not show whether
        // the server accepts new connections.
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
