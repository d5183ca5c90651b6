internal import Pipeline
internal import Settings

extension Wiring {
    /// Returns the timeouts of each route of the table, which begins with the gateway's own routes.
    static func timeoutsOfRoute(
        _ settings: GatewaySettings, _ gate: Gate, _ upstreams: [UpstreamSettings]
    ) -> [UpstreamTimeouts?] {
        let own = gate.routes.routes.count - settings.routes.count
        return Array(repeating: nil, count: own)
            + settings.routes.map { route in
                route.timeouts.timeouts(over: upstreams.first { $0.name == route.upstream }?.timeouts)
            }
    }
}
