package import HTTPClient
package import Logging
package import Pipeline
internal import Synchronization

/// The health checks of one server, for as long as its upstream's settings stay as they are.
package final class ServerCheck: Sendable {
    package let upstreamName: String
    package let serverName: String
    private let upstream: UInt64
    private let server: Int
    private let checker: HealthChecker
    private let state: Health

    private final class Health: Sendable {
        private let stored: Atomic<Bool>

        init(_ isHealthy: Bool) { stored = Atomic(isHealthy) }

        var value: Bool {
            get { stored.load(ordering: .relaxed) }
            set { stored.store(newValue, ordering: .relaxed) }
        }
    }

    /// - Parameters:
    ///   - server: its position in the upstream's settings.
    ///   - publish: called when the server has become unhealthy or healthy again.
    package init(
        _ upstream: ServedUpstream, server: Int, _ settings: HealthCheckSettings, _ fetcher: any Fetcher,
        logger: Logger, publish: @escaping @Sendable (Bool) -> Void
    ) {
        let (upstreamName, checked) = (upstream.settings.name, upstream.settings.servers[server])
        let state = Health(!upstream.knownUnhealthy.contains(server))
        self.upstream = upstream.number
        self.server = server
        self.upstreamName = upstreamName
        self.serverName = checked.name
        self.state = state
        let about: Logger.Metadata = ["upstream": "\(upstreamName)", "server": "\(checked.name)"]
        checker = HealthChecker(
            server: checked, settings: settings, wasHealthy: state.value, fetcher: fetcher,
            checked: { outcome in
                logger.log(
                    level: outcome.isGood ? .trace : .debug, "health check",
                    metadata: about.merging(["answer": "\(outcome.text)"]) { $1 })
            },
            publish: { isHealthy, outcome in
                state.value = isHealthy
                logger.log(
                    level: isHealthy ? .notice : .warning, isHealthy ? "server healthy" : "server unhealthy",
                    metadata: about.merging(["answer": "\(outcome.text)"]) { $1 })
                publish(isHealthy)
            })
    }

    package var isHealthy: Bool { state.value }

    package func isOf(_ upstream: ServedUpstream, server: Int) -> Bool {
        self.upstream == upstream.number && self.server == server
    }

    /// Returns when its task is cancelled.
    package func run() async { await checker.run() }
}
