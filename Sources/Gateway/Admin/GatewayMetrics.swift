internal import HTTP1
internal import Pipeline
internal import Telemetry
internal import Upstream

/// The metrics of this gateway: labels that are fixed from the start, and what is read when they are asked for.
enum GatewayMetrics {
    static func registry(
        _ plan: ServingPlan, _ directory: LoopDirectory, _ isDraining: AtomicFlag
    ) -> MetricsRegistry {
        let labels = MetricsLabels(
            routes: plan.gate.routes.routes.map(\.name), upstreams: plan.upstreams.map(\.name),
            servers: plan.upstreams.map { upstream in upstream.servers.map(\.name) },
            denialReasons: reasons)
        return MetricsRegistry(labels: labels) {
            MetricsReadings(
                keySets: plan.keyServices.map(reading), accessLogDropped: plan.accessLog?.dropped ?? 0,
                isReady: !isDraining.isSet && directory.keySetsHeld.allSatisfy { $0 })
        }
    }

    private static func reading(_ service: KeySetService) -> MetricsReadings.KeySet {
        let status = service.currentStatus
        return MetricsReadings.KeySet(
            issuer: service.issuer.name, refreshes: status.refreshes, failures: status.failures,
            ageSeconds: status.fetchedAt.map { Double(WallClock.seconds() - $0) })
    }

    /// Every reason code of the request path; those of the account endpoints count as `other`.
    private static let reasons: [String] = {
        let gate = [
            "token-missing", "repeated-authorization", "no-route", "method-not-allowed", "keys-unavailable",
            "identity-too-large", "direct-cognito", "client-disconnected", "body-too-large", "request-timeout",
            "cors-not-allowed", "websocket-handshake", "websocket-version", "websocket-not-served",
        ]
        let all =
            gate + WebSocketClose.all.map(\.reason) + UpstreamFault.reasons
            + RejectReason.allCases.map(\.rawValue) + PathFault.allCases.map(\.rawValue)
            + HTTP1Fault.allCases.map(\.rawValue)
        var seen: Set<String> = []
        return all.filter { seen.insert($0).inserted }
    }()
}
