internal import ACME
internal import Accounts
internal import Encoding
internal import Listener
internal import Pipeline
internal import Settings
internal import Store
internal import Telemetry
internal import Upstream

/// `/status`: the state of the gateway as JSON, for people and programs.
enum StatusPage {
    /// - Parameter token: the caller's token; nil if none is required.
    static func text(_ metrics: MetricsRegistry, _ status: GatewayStatus, _ token: AdminToken?) -> String {
        let readings = status.readings
        let gateway = status.overview
        let errors = StatusErrors(status.recent.errorStreaks)
        var page: JSONObject = [
            "version": .string(GatehouseVersion.current),
            "started_at": .number(JSONNumber(gateway.startedAt)),
            "uptime_seconds": .number(JSONNumber(gateway.uptime)),
            "caller": token.map(caller) ?? .null,
            "ready": .bool(readings.isReady),
            "draining": .bool(gateway.drainingSince != nil),
            "draining_since": gateway.drainingSince.map { number($0) } ?? .null,
            "configuration": configuration(gateway, readings),
            "store": gateway.store.map { store($0, gateway) } ?? .null,
            "revocation_list": readings.revocations?.shared.map(list) ?? .null,
            "replicas": gateway.replicas.map { replicas in
                .array(replicas.known.map { replica($0, isThis: $0.id.hasSameBytes(as: replicas.own)) })
            } ?? .null,
            "listeners": .array(zip(gateway.listeners, gateway.certificates).map(listener)),
            "admin_certificates": .array(gateway.adminCertificates.map(certificate)),
            "upstreams": .array(gateway.upstreams.map { upstream($0, metrics.servers, status, errors) }),
            "route_errors": .array(errors.routes), "refusals": .array(errors.refusals),
            "issuers": .array(gateway.issuers.map { issuer($0, readings) }),
            "sign_ins": .array(gateway.tokenChecks.map(signIn)),
            "own_keys": .array(
                readings.ownKeys.map { keys in
                    ["purpose": .string(keys.purpose), "error": keys.error.map { .string($0) } ?? .null]
                }),
            "key_sets": .array(readings.keySets.map(keySet)),
            "acme": gateway.obtained.map { .array($0.map(obtained)) } ?? .null,
            "limits": limits(gateway, metrics, readings),
            "direct_cognito": .object(direct(metrics, status, readings)),
            "recent_denials": .array(status.recent.lastDenials.map(denial)),
            "recent_audit_events": .array(events(status)),
        ]
        if let accountServices = readings.accountServices {
            for (name, value) in Self.accountServices(accountServices) { page[name] = value }
        }
        return String(decoding: page.encoded(), as: UTF8.self) + "\n"
    }

    private static func number(_ value: some BinaryInteger) -> JSON { .number(JSONNumber(Int64(value))) }

    /// The caller's name and rights, so that the dashboard offers only calls that are allowed.
    private static func caller(_ token: AdminToken) -> JSON {
        let rights = AdminRight.allCases.filter(token.allows)
        return ["name": .string(token.name), "may": .array(rights.map { .string($0.rawValue) })]
    }

    private static func configuration(_ gateway: GatewayOverview, _ readings: MetricsReadings) -> JSON {
        [
            "digest": .string(gateway.digest),
            "in_use_since": readings.reloads.map { number($0.lastSuccess) } ?? .null,
            // The digest covers only the text of the settings file.
            "secrets_changed_at": gateway.secretsChangedAt.map { number($0) } ?? .null,
            "reloads": number(readings.reloads?.succeeded ?? 0),
            "failed_reloads": number(readings.reloads?.failed ?? 0),
            // The time of the last reload, if it failed.
            "failed_at": gateway.failedAt.map { number($0) } ?? .null,
            "faults": .array(gateway.errors.map { .string($0) }),
        ]
    }

    /// The state of the store.
    private static func store(_ store: ReadinessReport.Store, _ gateway: GatewayOverview) -> JSON {
        [
            "writable": .bool(store.error == nil), "error": store.error.map { .string($0) } ?? .null,
            "failing_since": gateway.storeFailingSince.map { number($0) } ?? .null,
            // Whether clients' requests need writes, so that readiness depends on the store.
            "needed": .bool(store.isNeeded), "schema_version": number(gateway.schemaVersion),
        ]
    }

    /// The revocation list that several gateways share.
    private static func list(_ list: MetricsReadings.SharedList) -> JSON {
        [
            "age_seconds": number(list.age), "too_old": .bool(list.isTooOld),
            // Whether the database announces changes.
            "notified": .bool(list.isNotified),
        ]
    }

    private static func replica(_ replica: Replica, isThis: Bool) -> JSON {
        [
            "id": .string(replica.id), "name": .string(replica.name), "this": .bool(isThis),
            "state": .string(replica.state.rawValue), "version": .string(replica.version),
            "configuration": .string(replica.configuration), "started_at": number(replica.startedAt),
            "heard_seconds_ago": number(replica.silence),
            "list_age_seconds": replica.listAge.map { number($0) } ?? .null,
        ]
    }

    private static func listener(_ listener: ListenSettings, _ certificates: [ServedCertificate]) -> JSON {
        [
            "certificates": .array(certificates.map(certificate)),
            "address": .string("\(listener.address)"), "tls": .bool(listener.tls != nil),
            "http2": .bool(listener.http2), "proxy_protocol": .bool(!listener.proxies.isEmpty),
        ]
    }

    private static func certificate(_ certificate: ServedCertificate) -> JSON {
        ["names": .array(certificate.names.map { .string($0) }), "expires_at": number(certificate.expiresAt)]
    }

    private static func upstream(
        _ upstream: GatewayOverview.Upstream, _ readings: [MetricsRegistry.ServerReading], _ status: GatewayStatus,
        _ errors: StatusErrors
    ) -> JSON {
        let servers = upstream.servers.map { server -> JSON in
            let reading = readings.first { $0.upstream == upstream.name && $0.server == server.name }
            return [
                "name": .string(server.name),
                // The result of health checks; null if there are none.
                "healthy": server.isHealthy.map { .bool($0) } ?? .null,
                "check_error": server.checkError.map { .string($0) } ?? .null,
                "drained": .bool(status.drainedServers.contains(server.name, of: upstream.name)),
                // Whether every event loop sends requests to this server.
                "serving": .bool(reading?.isUp ?? true),
                "since": reading?.since.map { number($0) } ?? .null,
                "last_error": errors.ofServer(server.name, of: upstream.name),
                "requests_in_flight": number(reading?.inFlight ?? 0), "requests": number(reading?.requests ?? 0),
                "failures": number(reading?.failures ?? 0), "ejections": number(reading?.ejections ?? 0),
            ]
        }
        return ["name": .string(upstream.name), "servers": .array(servers)]
    }

    private static func issuer(_ issuer: Issuer, _ readings: MetricsReadings) -> JSON {
        let keys = readings.keySets.first { $0.issuer == issuer.name }
        return [
            "name": .string(issuer.name), "issuer": .string(issuer.issuer),
            // The number of keys for verification.
            "keys": number(keys?.keys ?? 0),
            "key_age_seconds": keys?.ageSeconds.map { number(Int64($0)) } ?? .null,
            // The time until the set is due to be fetched again, and until it is no longer trusted.
            "keys_due_in_seconds": keys?.dueInSeconds.map { number($0) } ?? .null,
            "keys_end_in_seconds": keys?.endsInSeconds.map { number($0) } ?? .null,
            "key_refreshes": number(keys?.refreshes ?? 0), "key_failures": number(keys?.failures ?? 0),
            "key_error": keys?.error.map { .string($0) } ?? .null,
            "key_failing_since": keys?.failingSince.map { number($0) } ?? .null,
        ]
    }

    private static func signIn(_ check: SignInTokenCheck) -> JSON {
        let refusal = check.refusal
        return [
            "issuer": .string(check.issuer), "client_id": .string(check.clientID),
            // The reason why the gateway refuses the pool's tokens; null if no refusal is known.
            "refused": refusal.map { .string($0.reason.rawValue) } ?? .null,
            "differences": .array((refusal?.differences ?? []).map(difference)),
        ]
    }

    private static func difference(_ difference: TokenDifference) -> JSON {
        [
            "name": .string(difference.name), "expected": .array(difference.expected.map { .string($0) }),
            "got": difference.got.map { .string($0) } ?? .null,
            "seconds_off": difference.secondsOff.map { number($0) } ?? .null,
        ]
    }

    private static func limits(
        _ gateway: GatewayOverview, _ metrics: MetricsRegistry, _ readings: MetricsReadings
    ) -> JSON {
        [
            "requests": [
                "limit": number(gateway.limits?.requests ?? 0), "in_flight": number(metrics.requestsInFlight),
            ],
            "connections": [
                "limit": number(gateway.limits?.connections ?? 0), "open": number(metrics.connectionsOpen),
            ],
            "revocations": [
                "limit": number(gateway.limits?.revocations ?? 0), "held": number(readings.revocations?.entries ?? 0),
            ],
        ]
    }

    private static func denial(_ record: AccessRecord) -> JSON {
        [
            "time": number(record.time / 1000), "reason": .string(record.denialReason ?? ""),
            "status": number(record.status), "method": .string(record.method), "path": .string(record.loggedTarget),
            "route": record.route.map { .string($0) } ?? .null, "client_address": .string(record.clientAddress),
            "request_id": .string(record.requestID),
        ]
    }

    /// The last audit events in the form of the audit log, with its hashes.
    private static func events(_ status: GatewayStatus) -> [JSON] {
        guard let hashes = status.userHashes else { return [] }
        var encoder = AuditEncoder(hashes)
        return status.recent.lastAuditEvents.compactMap { event in
            var line: [UInt8] = []
            encoder.encode(event, into: &line)
            return try? JSON.parse(line)
        }
    }

    private static func keySet(_ keySet: MetricsReadings.KeySet) -> JSON {
        [
            "issuer": .string(keySet.issuer), "failures": number(keySet.failures),
            "age_seconds": keySet.ageSeconds.map { number(Int64($0)) } ?? .null,
        ]
    }

    /// The status of one name's certificate that is obtained by ACME.
    private static func obtained(_ standing: CertificateStatus) -> JSON {
        [
            "name": .string(standing.name), "obtained_at": standing.obtainedAt.map { number($0) } ?? .null,
            "expires_at": standing.expiresAt.map { number($0) } ?? .null,
            "next_attempt_at": standing.nextAttemptAt.map { number($0) } ?? .null,
            "failures": number(standing.failures), "error": standing.error.map { .string($0) } ?? .null,
            "failing_since": standing.failingSince.map { number($0) } ?? .null,
        ]
    }

    private static func accountServices(_ accountServices: MetricsReadings.Accounts) -> JSONObject {
        [
            "account_limits": .object(JSONObject(accountServices.refusals.map { ($0.cause, number($0.count)) })),
            "outbox": [
                "waiting": number(accountServices.outboxWaiting), "delivered": number(accountServices.outboxDelivered),
                "failures": number(accountServices.outboxFailures), "lost": number(accountServices.outboxLost),
            ],
        ]
    }

    /// The direct Cognito calls. They show which released apps still call Cognito.
    private static func direct(
        _ metrics: MetricsRegistry, _ status: GatewayStatus, _ readings: MetricsReadings
    ) -> JSONObject {
        let operations = metrics.directCognitoCalls.map { ($0.operation, number($0.calls)) }
        let applications = readings.directApplications.entries.map { entry -> JSON in
            [
                "application": .string(entry.application), "calls": number(entry.calls),
                "refused": number(entry.refused), "last_seen": number(entry.lastSeen),
            ]
        }
        return [
            "mode": .string(status.directMode.rawValue), "operations": .object(JSONObject(operations)),
            "applications": .array(applications),
            "other_applications": number(readings.directApplications.others),
        ]
    }
}
