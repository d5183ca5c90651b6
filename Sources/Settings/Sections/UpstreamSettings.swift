/// How an upstream's requests are shared out.
package enum BalanceSetting: String, Sendable, CaseIterable {
    case roundRobin = "round_robin"
    case leastRequests = "least_requests"
    case hashSubject = "hash_subject"
}

/// Whether a backend takes paths that differ in case alone for different ones.
package enum PathCaseSetting: String, Sendable, CaseIterable {
    case caseSensitive = "case_sensitive"
    case caseInsensitive = "case_insensitive"
}

/// A backend that requests are sent to: its servers, and how long the gateway waits for them.
package struct UpstreamSettings: Sendable {
    /// How routes and metrics name it.
    package var name: String
    /// At least one.
    package var servers: [UpstreamServerSettings]
    package var balance: BalanceSetting
    package var paths: PathCaseSetting
    /// Headers of clients' that all its routes let through.
    package var forwardHeaders: ForwardHeaderSettings
    package var connectTimeout: Duration
    /// From the end of the request to the first byte of the response.
    package var firstByteTimeout: Duration
    /// Between two reads or writes of a body.
    package var idleTimeout: Duration
    /// From the request's head to the response's end; zero for no limit.
    package var wholeTimeout: Duration
    /// How long a pooled connection is kept while unused.
    package var keepAlive: Duration
    /// How old a pooled connection gets before a new one replaces it.
    package var maximumAge: Duration
    /// Pooled connections kept while unused, per server and event loop.
    package var maximumIdleConnections: Int
    /// Requests in flight, per server and event loop.
    package var maximumConnections: Int
    /// Requests that wait for a connection, per server and event loop.
    package var maximumWaiting: Int
    /// How long they wait.
    package var waitingTimeout: Duration
    /// Retries for 100 requests.
    package var retryPercent: Int
    package var ejection: EjectionSettings
    package var health: HealthSettings?
    package var tls: UpstreamTLSSettings?
}

extension UpstreamSettings {
    init?(name: String, node: SettingsNode) {
        let read = node.section { keys in Self(name: name, reading: keys) }
        guard let read else { return nil }
        self = read
    }

    private init(name: String, reading keys: SettingsMapping) {
        self.name = name
        servers = UpstreamServerSettings.all(of: keys)
        balance = keys.value("balance", .oneOf, default: BalanceSetting.roundRobin)
        paths = keys.value("paths", .oneOf, default: PathCaseSetting.caseSensitive)
        forwardHeaders = ForwardHeaderSettings(reading: keys)
        connectTimeout = keys.value("connect_timeout", .wait, default: .seconds(5))
        firstByteTimeout = keys.value("first_byte_timeout", .wait, default: .seconds(30))
        idleTimeout = keys.value("idle_timeout", .wait, default: .seconds(60))
        wholeTimeout = keys.value("whole_timeout", .duration(.zero ... .seconds(86_400)), default: .zero)
        keepAlive = keys.value("keep_alive", .duration(.zero ... .seconds(86_400)), default: .seconds(60))
        maximumAge = keys.value("maximum_age", .duration(.seconds(1) ... .seconds(86_400)), default: .seconds(300))
        maximumIdleConnections = keys.value("maximum_idle_connections", .integer(0...100_000), default: 128)
        maximumConnections = keys.value("maximum_connections", .integer(1...1_000_000), default: 1024)
        maximumWaiting = keys.value("maximum_waiting", .integer(0...1_000_000), default: 4096)
        waitingTimeout = keys.value("waiting_timeout", .wait, default: .seconds(5))
        retryPercent = keys.section("retries") { $0.value("budget", .percent, default: 10) }
        ejection = keys.section("ejection", EjectionSettings.init(reading:))
        health = keys.optional("health")?.section(HealthSettings.init(reading:)) ?? nil
        tls = keys.optional("tls")?.section(UpstreamTLSSettings.init(reading:)) ?? nil
        if tls != nil, !servers.contains(where: \.isTLS) {
            keys.fault("tls", "has no effect: no server's URL is https")
        }
    }
}

extension ScalarFormat where Value == Duration {
    /// A timeout: long enough to be met, short enough to be one.
    static var wait: Self { .duration(.milliseconds(1) ... .seconds(86_400)) }
}

extension ScalarFormat where Value == Int {
    /// `0%` to `100%`.
    static var percent: Self {
        Self(
            schema: ScalarSchema(.pattern("^(100|[0-9]{1,2})%$"), "A percentage from 0% to 100%."), show: { "\($0)%" }
        ) { (text) throws(ScalarRefusal) in
            guard text.hasSuffix("%"), let value = Int(text.dropLast()), (0...100).contains(value),
                text.first != "+", text.first != "-"
            else { throw ScalarRefusal("must be a percentage from 0% to 100%") }
            return value
        }
    }
}
