internal import NIOCore
package import Pipeline
internal import SettingsReader

/// Whether a backend distinguishes paths that differ in case only.
package enum PathCaseSetting: String, Sendable, CaseIterable {
    case caseSensitive = "case_sensitive"
    case caseInsensitive = "case_insensitive"
}

/// An entry of the section `upstreams`: the upstream, and the settings of all its routes.
package struct UpstreamSection: Sendable {
    package var upstream: UpstreamSettings
    package var paths: PathCaseSetting
    /// The client headers that all its routes forward.
    package var forwardHeaders: ForwardHeaderSettings

    /// The name in routes and metrics.
    package var name: String { upstream.name }
}

extension UpstreamSection {
    init?(name: String, node: SettingsNode) {
        let read = node.section { keys in Self(name: name, reading: keys) }
        guard let read else { return nil }
        self = read
    }

    private init(name: String, reading keys: SettingsMapping) {
        let servers = ServerEntry.all(of: keys)
        upstream = UpstreamSettings(name: name, servers: [])
        upstream.balance = keys.value("balance", .oneOf, default: upstream.balance)
        paths = keys.value("paths", .oneOf, default: PathCaseSetting.caseSensitive)
        forwardHeaders = ForwardHeaderSettings(reading: keys)
        upstream.timeouts.connect = keys.value("connect_timeout", .wait, default: .seconds(5))
        upstream.timeouts.firstByte = TimeAmount(keys.value("first_byte_timeout", .wait, default: .seconds(30)))
        upstream.timeouts.idle = TimeAmount(keys.value("idle_timeout", .wait, default: .seconds(60)))
        upstream.timeouts.whole = UpstreamTimeouts.whole(
            keys.value("whole_timeout", .duration(.zero ... .seconds(86_400)), default: .zero))
        upstream.keepAlive = TimeAmount(
            keys.value("keep_alive", .duration(.zero ... .seconds(86_400)), default: .seconds(60)))
        upstream.maximumAge = TimeAmount(
            keys.value("maximum_age", .duration(.seconds(1) ... .seconds(86_400)), default: .seconds(300)))
        upstream.maximumIdleConnections = keys.value(
            "maximum_idle_connections", .integer(0...100_000), default: upstream.maximumIdleConnections)
        upstream.maximumConnections = keys.value(
            "maximum_connections", .integer(1...1_000_000), default: upstream.maximumConnections)
        upstream.maximumWaiting = keys.value(
            "maximum_waiting", .integer(0...1_000_000), default: upstream.maximumWaiting)
        upstream.waitingTimeout = TimeAmount(keys.value("waiting_timeout", .wait, default: .seconds(5)))
        let retryPercent = upstream.retryPercent
        upstream.retryPercent = keys.section("retries") { $0.value("budget", .percent, default: retryPercent) }
        upstream.ejection = keys.section("ejection", EjectionPolicy.init(reading:))
        upstream.healthCheck = keys.optional("health")?.section(HealthCheckSettings.init(reading:)) ?? nil
        let tls = keys.optional("tls")?.section(UpstreamTLS.init(reading:)) ?? nil
        if tls != nil, !servers.contains(where: \.isTLS) {
            keys.error("tls", "has no effect: no server's URL is https")
        }
        upstream.servers = servers.map { UpstreamServer($0, tls) }
    }
}

extension UpstreamTimeouts {
    /// - Parameter duration: zero stands for no limit.
    static func whole(_ duration: Duration) -> TimeAmount? { duration == .zero ? nil : TimeAmount(duration) }
}

extension ScalarFormat where Value == Duration {
    /// A timeout, from 1 ms to 1 day.
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
