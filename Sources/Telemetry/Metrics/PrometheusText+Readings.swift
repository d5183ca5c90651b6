internal import Pipeline

/// Readings that are no sums over event loops.
extension PrometheusText {
    mutating func write(_ lookups: MetricsReadings.NameLookups) {
        family(
            "gatehouse_name_lookups_total", "Names of other servers that were looked up, by result.", label: "result",
            values: ["found", "absent", "failed"], other: nil,
            [lookups.found, lookups.absent, lookups.failed].map(Int64.init))
    }

    mutating func write(_ calls: [ApplicationTally.Calls]) {
        let name = "gatehouse_direct_cognito_applications_total"
        metric(name, .counter, "Calls that apps sent to Cognito itself, by app: what User-Agent begins with.")
        for each in calls {
            sample(name, [("application", each.application), ("operation", each.operation)], String(each.count))
        }
    }

    /// Of several for one name, as of different kinds of keys, the one that ends first.
    mutating func write(_ certificates: [MetricsReadings.Certificate]) {
        guard !certificates.isEmpty else { return }
        let name = "gatehouse_certificate_expires_timestamp_seconds"
        metric(name, .gauge, "When a certificate that a listener shows ends.")
        let ends = Dictionary(certificates.map { ([$0.listener, $0.name], $0.expiresAt) }, uniquingKeysWith: min)
        for (labels, end) in ends.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            sample(name, [("listener", labels[0]), ("certificate", labels[1])], String(end))
        }
    }

    mutating func write(_ revocations: MetricsReadings.Revocations) {
        single("gatehouse_revocations", .gauge, "Revocations that are held.", Int64(revocations.entries))
        single(
            "gatehouse_revocations_limit", .gauge, "Revocations that are held at most.", Int64(revocations.limit))
        single(
            "gatehouse_revocation_failures_total", .counter, "Revocations that were refused, or not kept in the store.",
            Int64(revocations.failures))
        single(
            "gatehouse_superseded_sessions", .gauge, "Sessions whose replaced tokens are held to be refused.",
            Int64(revocations.superseded))
    }

    mutating func write(_ accountServices: MetricsReadings.Accounts) {
        metric("gatehouse_account_calls_total", .counter, "Account calls by operation and what became of them.")
        for (key, count) in accountServices.calls {
            sample(
                "gatehouse_account_calls_total",
                [("operation", key.operation), ("result", key.result), ("reason", key.reason)], String(count))
        }
        let sessions = "gatehouse_session_length_seconds"
        metric(sessions, .histogram, "How long sessions had lasted when they ended, by what ended them.")
        for length in accountServices.sessionLengths {
            histogram(
                sessions, ("end", length.end.rawValue), limits: SessionLengths.limits.map(String.init),
                counts: length.counts, sum: String(length.sum))
        }
        family(
            "gatehouse_account_limits_total", "Account calls that were not let through, by cause.", label: "cause",
            values: accountServices.refusals.map(\.cause), other: nil, accountServices.refusals.map { Int64($0.count) })
        single(
            "gatehouse_account_lockouts_total", .counter, "Accounts that failed sign-ins have locked.",
            Int64(accountServices.lockouts))
        let outbox: [(String, Kind, String, Int)] = [
            ("waiting", .gauge, "Messages to backends that wait.", accountServices.outboxWaiting),
            ("delivered_total", .counter, "Messages that were received.", accountServices.outboxDelivered),
            ("failures_total", .counter, "Attempts to send a message that failed.", accountServices.outboxFailures),
            ("lost_total", .counter, "Messages that were given up, or not taken.", accountServices.outboxLost),
        ]
        for (name, kind, help, value) in outbox { single("gatehouse_outbox_\(name)", kind, help, Int64(value)) }
    }

    mutating func write(_ reloads: MetricsReadings.Reloads) {
        metric("gatehouse_config_reloads_total", .counter, "Readings of the settings while running, by result.")
        sample("gatehouse_config_reloads_total", [("result", "success")], String(reloads.succeeded))
        sample("gatehouse_config_reloads_total", [("result", "failure")], String(reloads.failed))
        single(
            "gatehouse_config_last_reload_successful", .gauge, "Whether what was read last took over.",
            reloads.lastFailed ? 0 : 1)
        single(
            "gatehouse_config_last_success_timestamp_seconds", .gauge, "When the settings in use took over.",
            reloads.lastSuccess)
    }
}
