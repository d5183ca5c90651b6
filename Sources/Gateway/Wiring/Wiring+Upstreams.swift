internal import Cryptography
internal import Curl
internal import HTTPTypes
internal import NIOCore
internal import Pipeline
package import Settings
package import Upstream

extension Wiring {
    package static func upstreams(_ settings: GatewaySettings) -> [Upstream.UpstreamSettings] {
        settings.upstreams.map(upstream)
    }

    private static func upstream(_ settings: Settings.UpstreamSettings) -> Upstream.UpstreamSettings {
        var made = Upstream.UpstreamSettings(
            name: settings.name, servers: settings.servers.map { server($0, settings.tls) },
            timeouts: UpstreamTimeouts(
                connect: settings.connectTimeout, firstByte: TimeAmount(settings.firstByteTimeout),
                idle: TimeAmount(settings.idleTimeout), whole: whole(settings.wholeTimeout)),
            keepAlive: TimeAmount(settings.keepAlive), maximumIdleConnections: settings.maximumIdleConnections)
        made.balance = settings.balance.balance
        made.maximumAge = TimeAmount(settings.maximumAge)
        made.maximumConnections = settings.maximumConnections
        made.maximumWaiting = settings.maximumWaiting
        made.waitingTimeout = TimeAmount(settings.waitingTimeout)
        made.retryPercent = settings.retryPercent
        made.ejection = EjectionPolicy(
            after: settings.ejection.after, statuses: Set(settings.ejection.statuses),
            paths: settings.ejection.paths, clients: settings.ejection.clients,
            largestShare: settings.ejection.largestShare, ejectsLastServer: settings.ejection.onlyServer,
            first: TimeAmount(settings.ejection.first), longest: TimeAmount(settings.ejection.longest),
            slowReturn: TimeAmount(settings.ejection.slowReturn))
        made.healthCheck = settings.health.map {
            HealthCheckSettings(
                path: $0.path, interval: $0.interval, timeout: $0.timeout, healthyAfter: $0.healthyAfter,
                unhealthyAfter: $0.unhealthyAfter)
        }
        return made
    }

    /// For each route of the table, which begins with the gateway's own.
    static func timeoutsOfRoute(
        _ settings: GatewaySettings, _ gate: Gate, _ upstreams: [Upstream.UpstreamSettings]
    ) -> [UpstreamTimeouts?] {
        let own = gate.routes.routes.count - settings.routes.count
        return Array(repeating: nil, count: own)
            + settings.routes.map { route in
                let changes = route.treatment.timeouts
                guard changes != RouteTimeoutSettings(),
                    var timeouts = upstreams.first(where: { $0.name == route.upstream })?.timeouts
                else { return nil }
                if let connect = changes.connect { timeouts.connect = connect }
                if let firstByte = changes.firstByte { timeouts.firstByte = TimeAmount(firstByte) }
                if let idle = changes.idle { timeouts.idle = TimeAmount(idle) }
                if let limit = changes.whole { timeouts.whole = whole(limit) }
                return timeouts
            }
    }

    static func treatment(_ settings: RouteTreatmentSettings) -> RouteTreatment? {
        let rewrites = settings.stripPrefix != nil || settings.addPrefix != nil
        let rules = [settings.requestHeaders, settings.responseHeaders]
        guard rewrites || settings.bodyLimit > 0 || rules.contains(where: { !$0.isEmpty }) else { return nil }
        return RouteTreatment(
            rewrite: rewrites
                ? TargetRewrite(stripPrefix: settings.stripPrefix ?? "", addPrefix: settings.addPrefix ?? "") : nil,
            requestHeaders: headerRules(settings.requestHeaders),
            responseHeaders: headerRules(settings.responseHeaders),
            bodyLimit: settings.bodyLimit > 0 ? settings.bodyLimit : nil)
    }

    private static func headerRules(_ settings: HeaderRuleSettings) -> HeaderRules {
        HeaderRules(
            set: settings.add.compactMap { name, value in
                HTTPField.Name(name).map { HTTPField(name: $0, value: value.exposeText()) }
            },
            remove: settings.remove.compactMap { HTTPField.Name($0) })
    }

    /// Zero stands for no limit.
    private static func whole(_ duration: Duration) -> TimeAmount? {
        duration == .zero ? nil : TimeAmount(duration)
    }

    private static func server(
        _ settings: UpstreamServerSettings, _ tls: UpstreamTLSSettings?
    ) -> UpstreamServer {
        let name = settings.address.description
        switch settings.address {
        case .unix(let path):
            return UpstreamServer(
                name: name, url: "http://localhost", weight: settings.weight, access: CurlAccess(unixSocket: path))
        case .url(let url):
            guard url.scheme == .https, let tls else {
                return UpstreamServer(url: url.description, weight: settings.weight)
            }
            var access = CurlAccess(
                certificateAuthorities: tls.certificateAuthorities, certificate: tls.certificate, key: tls.key,
                pinnedKey: tls.pinnedKey)
            guard let serverName = tls.serverName else {
                return UpstreamServer(url: url.description, weight: settings.weight, access: access)
            }
            // libcurl takes the name for SNI and verification from the URL, and the address from here.
            access.connectTo = HostAndPort(host: url.host, port: url.port).description
            let named = ServiceURL(scheme: .https, host: serverName, port: url.port, path: "")
            return UpstreamServer(name: name, url: named.description, weight: settings.weight, access: access)
        }
    }
}

extension BalanceSetting {
    fileprivate var balance: Balance {
        switch self {
        case .roundRobin: .roundRobin
        case .leastRequests: .leastRequests
        case .hashSubject: .hashSubject
        }
    }
}
