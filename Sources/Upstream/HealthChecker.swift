/// Asks one server again and again whether it is well, and tells when that has changed.
package struct HealthChecker: Sendable {
    private let url: String
    private let settings: HealthCheckSettings
    private let wasHealthy: Bool
    private let fetcher: any Fetcher
    private let sleep: @Sendable (Duration) async throws -> Void
    private let publish: @Sendable (Bool) -> Void

    /// - Parameters:
    ///   - wasHealthy: what is known of the server already.
    ///   - fetcher: reaches the server as carried requests do.
    ///   - publish: called when the server has become unhealthy or healthy again.
    package init(
        server: UpstreamServer, settings: HealthCheckSettings, wasHealthy: Bool = true, fetcher: any Fetcher,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        publish: @escaping @Sendable (Bool) -> Void
    ) {
        self.url = server.url + settings.path
        self.settings = settings
        self.wasHealthy = wasHealthy
        self.fetcher = fetcher
        self.sleep = sleep
        self.publish = publish
    }

    /// Returns when its task is cancelled.
    package func run() async {
        var state = HealthState(
            healthyAfter: settings.healthyAfter, unhealthyAfter: settings.unhealthyAfter, isHealthy: wasHealthy)
        while !Task.isCancelled {
            if state.checked(isGood: await check()) { publish(state.isHealthy) }
            do { try await sleep(settings.interval) } catch { return }
        }
    }

    private func check() async -> Bool {
        let request = FetchRequest(
            url: url, headers: [(name: "User-Agent", value: "gatehouse-health")], deadline: settings.timeout)
        do {
            return HealthState.isGood(status: try await fetcher.fetch(request).status)
        } catch {
            return false
        }
    }
}
