internal import Clocks
internal import Gateway
internal import Postgres
internal import PostgresStore
internal import Settings
internal import Store

/// The check of the database that gateways share.
extension OnlineCheck {
    func stateProbes() -> [Probe] {
        guard let state = settings.state?.postgres else { return [] }
        return [Probe(subject: "state.postgres") { await Self.ask(state) }]
    }

    /// Checks the version, rights, schema, TLS and clock: everything that would prevent a gateway's start or make it
    /// work incorrectly.
    private static func ask(_ state: PostgresStateSettings) async -> (isGood: Bool, text: String) {
        let found: PostgresInspection
        do throws(PostgresStartError) {
            found = try await PostgresInspection.look(state.connection) { WallClock.milliseconds() }
        } catch {
            return (false, "\(error.keyPath): \(error)")
        }
        var parts = ["PostgreSQL \(found.serverVersion / 10_000)"]
        switch found.schema {
        case .current: parts.append("the schema is current")
        case .older(let missing): parts.append("the next start adds \(missing.count) steps to the schema")
        case .newer, .unreadable: return (false, "the schema cannot be used")
        }
        let seconds = abs(found.clockDifference) / 1000
        if seconds > 0 {
            let side = found.clockDifference < 0 ? "behind" : "ahead of"
            parts.append("this machine's clock is \(seconds) s \(side) the database's")
        }
        parts.append(
            await PostgresInspection.canListen(state.connection)
                ? "changes are notified" : "no notification arrives, as with pgbouncer: gateways ask every 250 ms")
        return (seconds <= longestDifference, parts.joined(separator: "; "))
    }

    /// The maximum clock difference in seconds. Tokens contain times as well, and are revoked by the later clock.
    private static let longestDifference: Int64 = 5
}
