package import HTTPClient
internal import Locking
package import Logging
package import Pipeline
internal import Synchronization

/// The health checks of one server, as long as its upstream's settings do not change.
package final class ServerCheck: Sendable {
    package let upstreamName: String
    package let serverName: String
    private let upstream: UInt64
    private let server: Int
    private let checker: HealthChecker
    private let state: Health

    private final class Health: Sendable {
        private let stored: Atomic<Bool>
        private let lastError = Locked<String?>(nil)

        init(_ isHealthy: Bool) { stored = Atomic(isHealthy) }

        var value: Bool {
            get { stored.load(ordering: .relaxed) }
            set { stored.store(newValue, ordering: .relaxed) }
        }

        /// The error of the last check; nil if it succeeded.
        var error: String? {
            get { lastError.withLock { $0 } }
            set { lastError.withLock { $0 = newValue } }
        }
    }

    /// - Parameters:
    ///   - server: the index of the server in the upstream's settings.
    ///   - publish: called when the server becomes unhealthy or healthy again.
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
                state.error = outcome.isGood ? nil : String(outcome.text.prefix(Self.longestError))
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

    private static let longestError = 200

    package var isHealthy: Bool { state.value }

    /// The error of the last check; nil if it succeeded, or if there was none yet.
    package var error: String? { state.error }

    package func isOf(_ upstream: ServedUpstream, server: Int) -> Bool {
        self.upstream == upstream.number && self.server == server
    }

    /// Runs the checks until its task is cancelled.
    package func run() async { await checker.run() }
}
