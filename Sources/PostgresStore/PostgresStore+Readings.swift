internal import Postgres
package import Store

extension PostgresStore {
    /// Metrics of the pool and its statements.
    package var readings: StoreReadings {
        let tally = pool.tally.current
        let connections = tally.connections
        return StoreReadings(
            open: connections.open, idle: connections.idle, connecting: connections.connecting,
            waiting: connections.waiting, made: connections.made, failed: connections.failed,
            limits: PostgresTally.limits, durations: tally.durations, total: tally.total / .seconds(1),
            errors: PostgresError.labels.map { ($0, tally.errors[$0] ?? 0) })
    }
}
