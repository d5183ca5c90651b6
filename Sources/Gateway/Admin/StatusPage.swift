internal import Pipeline
internal import Settings
internal import Telemetry

/// `/status`: how the gateway fares, for people and programs that read JSON.
enum StatusPage {
    static func text(_ metrics: MetricsRegistry, _ status: GatewayStatus) -> String {
        let readings = status.readings
        var page: JSONObject = [
            "ready": .bool(readings.isReady),
            "key_sets": .array(readings.keySets.map(keySet)),
            "direct_cognito": .object(direct(metrics, status, readings)),
        ]
        if let conduct = readings.conduct { for (name, value) in Self.conduct(conduct) { page[name] = value } }
        return String(decoding: page.encoded(), as: UTF8.self) + "\n"
    }

    private static func keySet(_ keySet: MetricsReadings.KeySet) -> JSON {
        [
            "issuer": .string(keySet.issuer), "failures": .number(JSONNumber(keySet.failures)),
            "age_seconds": keySet.ageSeconds.map { .number(JSONNumber(Int64($0))) } ?? .null,
        ]
    }

    private static func conduct(_ conduct: MetricsReadings.Conduct) -> JSONObject {
        func number(_ value: Int) -> JSON { .number(JSONNumber(value)) }
        return [
            "account_limits": .object(JSONObject(conduct.refusals.map { ($0.cause, number($0.count)) })),
            "outbox": [
                "waiting": number(conduct.outboxWaiting), "delivered": number(conduct.outboxDelivered),
                "failures": number(conduct.outboxFailures), "lost": number(conduct.outboxLost),
            ],
        ]
    }

    /// By this one sees which released apps still call Cognito.
    private static func direct(
        _ metrics: MetricsRegistry, _ status: GatewayStatus, _ readings: MetricsReadings
    ) -> JSONObject {
        let operations = metrics.directCognitoCalls.map { ($0.operation, JSON.number(JSONNumber($0.calls))) }
        let applications = readings.directApplications.entries.map { entry -> JSON in
            [
                "application": .string(entry.application), "calls": .number(JSONNumber(entry.calls)),
                "refused": .number(JSONNumber(entry.refused)), "last_seen": .number(JSONNumber(entry.lastSeen)),
            ]
        }
        return [
            "mode": .string(status.directMode.rawValue), "operations": .object(JSONObject(operations)),
            "applications": .array(applications),
            "other_applications": .number(JSONNumber(readings.directApplications.others)),
        ]
    }
}
