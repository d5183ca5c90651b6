internal import ACME
internal import Curl
internal import HTTP1
internal import Keys
internal import Listener
package import Pipeline
internal import Settings
internal import Store
package import Telemetry

/// The metrics of this gateway: the labels from the settings, and the values that are read when metrics are requested.
package enum GatewayMetrics {
    package static func registry(_ status: GatewayStatus) -> MetricsRegistry {
        MetricsRegistry(labels: labels(routes: [], upstreams: [])) { status.readings }
    }

    package static func labels(routes: [String], upstreams: [UpstreamSettings]) -> MetricsLabels {
        MetricsLabels(
            routes: routes, upstreams: upstreams.map(\.name),
            servers: upstreams.map { upstream in upstream.servers.map(\.name) }, denialReasons: Reason.codes,
            connectionRefusals: ConnectionRefusal.allCases.map(\.rawValue),
            connectionErrors: HTTP2ConnectionError.allCases.map(\.name))
    }

    static var nameLookups: MetricsReadings.NameLookups {
        let tally = HostAddresses.tally
        return .init(found: tally.found, absent: tally.absent, failed: tally.failed)
    }

    static func reading(_ database: StoreReadings) -> MetricsReadings.Database {
        MetricsReadings.Database(
            open: database.open, idle: database.idle, made: database.made, failed: database.failed,
            waiting: database.waiting, limits: database.limits, durations: database.durations, total: database.total,
            errors: database.errors)
    }

    static func reading(_ service: CertificateService) -> MetricsReadings.ACME {
        let tally = service.tally
        return MetricsReadings.ACME(
            obtained: tally.obtained, failed: tally.failed,
            names: service.statuses.map { ($0.name, $0.failures, $0.obtainedAt ?? 0) })
    }

    static func counts(_ replicas: [Replica]) -> [(state: String, count: Int)] {
        [Replica.State.alive, .lost].map { state in (state.rawValue, replicas.count { $0.state == state }) }
    }

    static func reading(_ service: KeySetService) -> MetricsReadings.KeySet {
        let (status, age) = (service.currentStatus, service.age)
        // The remaining time is computed from the age: setting the clock back does not extend it.
        func left(until end: Int64?) -> Int64? {
            guard let end, let fetchedAt = status.fetchedAt, let age else { return nil }
            return end - fetchedAt - age
        }
        return MetricsReadings.KeySet(
            issuer: service.issuer.name, refreshes: status.refreshes, failures: status.failures,
            ageSeconds: age.map(Double.init), keys: service.currentSet?.count ?? 0,
            dueInSeconds: left(until: status.freshUntil), endsInSeconds: left(until: status.servesUntil),
            error: status.error, failingSince: status.failingSince)
    }
}
