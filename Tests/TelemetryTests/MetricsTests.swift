import Pipeline
import Testing

@testable import Telemetry

@Suite("Metrics")
struct MetricsTests {
    private static let labels = MetricsLabels(
        routes: ["api", "he\"al\\th\n"], upstreams: ["main", "files"], servers: [["m1"], ["f1"]],
        denialReasons: ["expired", "no-token"], directCognitoOperations: ["InitiateAuth"])

    private func samples(_ registry: MetricsRegistry) -> [Substring] {
        registry.render().split(separator: "\n")
    }

    @Test("A WebSocket is counted as a request, and not among the durations of answers")
    func webSockets() {
        let registry = MetricsRegistry(labels: Self.labels)
        let loop = registry.makeLoopMetrics()
        for _ in 0..<3 {
            loop.requestBegan()
            loop.webSocketOpened()
        }
        loop.requestEnded(route: 0, status: 101, duration: 3_600_000_000, upstreamDuration: 3_600_000_000)
        loop.webSocketClosed()
        let samples = samples(registry)
        for expected in [
            "gatehouse_websockets_total 3", "gatehouse_websockets_open 2", "gatehouse_requests_in_flight 2",
            #"gatehouse_requests_total{route="api",method="safe",status="1xx"} 1"#,
            #"gatehouse_request_duration_seconds_count{route="none"} 0"#,
            #"gatehouse_upstream_duration_seconds_count{route="none"} 0"#,
        ] {
            #expect(samples.contains(Substring(expected)), "\(expected)")
        }
        #expect(!samples.contains { $0.hasPrefix(#"gatehouse_request_duration_seconds_count{route="api"}"#) })
    }

    @Test("Responses and their time are counted for the server that had the request last")
    func responsesOfServers() {
        let registry = MetricsRegistry(labels: Self.labels)
        for loop in [registry.makeLoopMetrics(), registry.makeLoopMetrics()] {
            loop.requestEnded(route: 0, status: 200, duration: 9, upstreamDuration: 9, server: (1, 700))
            loop.requestEnded(route: 0, status: 502, duration: 9, upstreamDuration: 9, server: (1, 30_000_001))
            loop.requestEnded(route: 0, status: 101, duration: 9, upstreamDuration: 9, server: (1, 9))
            loop.requestEnded(route: 0, status: 404, duration: 9, upstreamDuration: nil)
        }
        let samples = samples(registry)
        let (name, server) = ("gatehouse_upstream_server", #"upstream="files",server="f1""#)
        for expected in [
            #"\#(name)_responses_total{\#(server),status="1xx"} 2"#,
            #"\#(name)_responses_total{\#(server),status="2xx"} 2"#,
            #"\#(name)_responses_total{\#(server),status="4xx"} 0"#,
            #"\#(name)_responses_total{\#(server),status="5xx"} 2"#,
            #"\#(name)_responses_total{upstream="main",server="m1",status="5xx"} 0"#,
            #"\#(name)_duration_seconds_bucket{\#(server),le="0.0005"} 0"#,
            #"\#(name)_duration_seconds_bucket{\#(server),le="0.001"} 2"#,
            #"\#(name)_duration_seconds_bucket{\#(server),le="30"} 2"#,
            #"\#(name)_duration_seconds_bucket{\#(server),le="+Inf"} 4"#,
            #"\#(name)_duration_seconds_sum{\#(server)} 60.001402"#, #"\#(name)_duration_seconds_count{\#(server)} 4"#,
        ] {
            #expect(samples.contains(Substring(expected)), "\(expected)")
        }
        #expect(!samples.contains { $0.hasPrefix(#"\#(name)_duration_seconds_count{upstream="main""#) })
    }

    @Test("A server is out since the first loop leaves it out, and back since the last one has it again")
    func serversSince() {
        let registry = MetricsRegistry(labels: Self.labels)
        let loops = [registry.makeLoopMetrics(), registry.makeLoopMetrics()]
        func state() -> [MetricsRegistry.ServerReading] { Array(registry.servers.prefix(1)) }
        #expect(state().map(\.since) == [nil] && state().map(\.isUp) == [true])
        loops[1].server(0, isServing: false, at: 10)
        loops[0].server(0, isServing: false, at: 12)
        #expect(state().map(\.since) == [10] && state().map(\.isUp) == [false])
        loops[1].server(0, isServing: true, at: 20)
        #expect(state().map(\.since) == [12] && state().map(\.isUp) == [false])
        loops[0].server(0, isServing: true, at: 21)
        #expect(state().map(\.since) == [21] && state().map(\.isUp) == [true])
        // A reload that leaves the server alone leaves its time as well.
        registry.use(registry.successors(Self.labels))
        #expect(state().map(\.since) == [21])
    }

    @Test("Event loops are summed")
    func summed() {
        let registry = MetricsRegistry(labels: Self.labels)
        let loops = [registry.makeLoopMetrics(), registry.makeLoopMetrics()]
        for loop in loops {
            loop.connectionOpened()
            loop.connectionOpened()
            loop.connectionClosed()
            for _ in 0..<3 { loop.requestBegan() }
            loop.requestEnded(route: 0, status: 200, duration: 900, upstreamDuration: 700)
            loop.requestEnded(route: nil, status: 404, duration: 40_000_000, upstreamDuration: nil)
            loop.denied(.token(.expired))
            loop.denied(.token(.revoked))
            loop.directCognitoCall(operation: "InitiateAuth")
            loop.directCognitoCall(operation: "Evil\n")
            loop.directCognitoCall(operation: nil)
            loop.received(bytes: 10)
            loop.sent(bytes: 20)
            loop.tokenCacheHit()
            loop.tokenCacheMiss()
            for _ in 0..<2 { loop.tokenCacheMiss(isShared: true) }
            loop.upstreamConnectionOpened(0)
            loop.upstreamConnectionReused(1)
            loop.upstreamFailed(1)
            loop.upstreamRetried(0)
            for _ in 0..<3 { loop.streamOpened() }
            loop.streamClosed()
            loop.connectionsIdle(more: 3, at: 1)
            loop.connectionsIdle(more: -1, at: 1)
        }
        let samples = samples(registry)
        for expected in [
            "gatehouse_client_connections_total 4", "gatehouse_client_connections_open 2",
            "gatehouse_requests_in_flight 2",
            #"gatehouse_requests_total{route="api",method="safe",status="2xx"} 2"#,
            #"gatehouse_requests_total{route="none",method="safe",status="4xx"} 2"#,
            #"gatehouse_requests_total{route="he\"al\\th\n",method="safe",status="2xx"} 0"#,
            #"gatehouse_denials_total{reason="expired"} 2"#, #"gatehouse_denials_total{reason="no-token"} 0"#,
            #"gatehouse_denials_total{reason="other"} 2"#,
            #"gatehouse_direct_cognito_calls_total{operation="InitiateAuth"} 2"#,
            #"gatehouse_direct_cognito_calls_total{operation="other"} 4"#,
            "gatehouse_client_received_bytes_total 20", "gatehouse_client_sent_bytes_total 40",
            #"gatehouse_token_cache_total{result="hit"} 2"#, #"gatehouse_token_cache_total{result="miss"} 2"#,
            #"gatehouse_token_cache_total{result="shared"} 4"#,
            #"gatehouse_upstream_connections_opened_total{upstream="main"} 2"#,
            #"gatehouse_upstream_connections_reused_total{upstream="files"} 2"#,
            #"gatehouse_upstream_failures_total{upstream="files"} 2"#,
            #"gatehouse_upstream_retries_total{upstream="main"} 2"#,
            #"gatehouse_request_duration_seconds_bucket{route="api",le="0.0005"} 0"#,
            #"gatehouse_request_duration_seconds_bucket{route="api",le="0.001"} 2"#,
            #"gatehouse_request_duration_seconds_bucket{route="api",le="+Inf"} 2"#,
            #"gatehouse_request_duration_seconds_bucket{route="none",le="30"} 0"#,
            #"gatehouse_request_duration_seconds_bucket{route="none",le="+Inf"} 2"#,
            #"gatehouse_request_duration_seconds_sum{route="none"} 80.000000"#,
            #"gatehouse_request_duration_seconds_count{route="none"} 2"#,
            #"gatehouse_upstream_duration_seconds_sum{route="api"} 0.001400"#,
            #"gatehouse_upstream_duration_seconds_count{route="api"} 2"#,
            #"gatehouse_gateway_duration_seconds_sum{route="api"} 0.000400"#,
            #"gatehouse_gateway_duration_seconds_count{route="none"} 0"#,
            "gatehouse_http2_streams_total 6", "gatehouse_http2_streams_open 4",
            #"gatehouse_upstream_server_connections_idle{upstream="files",server="f1"} 4"#,
        ] {
            #expect(samples.contains(Substring(expected)), "\(expected) is missing")
        }
        #expect(!registry.render().contains("Evil"))
    }

    @Test(
        "A status counts in its class",
        arguments: [
            (100, "1xx"), (199, "1xx"), (200, "2xx"), (304, "3xx"), (499, "4xx"), (599, "5xx"), (0, "other"),
            (99, "other"), (600, "other"), (-1, "other"), (.max, "other"),
        ])
    func statusClasses(status: Int, expected: String) {
        #expect(StatusClass.labels[StatusClass.index(of: status)] == expected)
    }

    @Test("An index out of range counts somewhere harmless", arguments: [-1, 2, 3, 1000])
    func outOfRange(index: Int) {
        let registry = MetricsRegistry(labels: Self.labels)
        let loop = registry.makeLoopMetrics()
        loop.requestEnded(route: index, status: 200, duration: 1, upstreamDuration: nil)
        loop.upstreamFailed(index)
        let samples = samples(registry)
        #expect(samples.contains(#"gatehouse_requests_total{route="none",method="safe",status="2xx"} 1"#))
        #expect(samples.contains(#"gatehouse_upstream_failures_total{upstream="main"} 0"#))
        #expect(samples.contains(#"gatehouse_upstream_failures_total{upstream="files"} 0"#))
    }

    @Test("Whatever is counted, there are no more series than before")
    func bounded() {
        let calls = AccountTally()
        let applications = ApplicationTally()
        let registry = MetricsRegistry(labels: Self.labels) {
            MetricsReadings(
                directCalls: applications.calls,
                accountServices: .init(
                    refusals: [], calls: calls.snapshot, signIns: calls.signIns.snapshot,
                    sessionLengths: calls.sessions.snapshot, outboxWaiting: 0, outboxDelivered: 0, outboxFailures: 0,
                    outboxLost: 0))
        }
        let loop = registry.makeLoopMetrics()
        func flood(_ numbers: Range<Int>) {
            for number in numbers {
                loop.requestBegan()
                loop.requestEnded(
                    route: number, isSafe: number % 2 == 0, status: number, duration: Int64(number),
                    upstreamDuration: 0)
                loop.denied(Reason.allCases[number % Reason.allCases.count])
                loop.directCognitoCall(operation: "Operation\(number)")
                loop.connectionRefused("reason-\(number)")
                loop.upstreamFailed(number)
                loop.connectionsIdle(more: 1, at: number)
                calls.count(
                    AccountTally.Key(
                        operation: "login", result: "refused", reason: Reason.allCases[number % Reason.allCases.count]))
                calls.signIns.count(SignInMethod.allCases[number % 7], SignInTally.Result.allCases[number % 3])
                calls.sessions.ended("session-\(number)", by: .signOut, after: Int64(number))
                applications.count(
                    "App/\(number)", operation: "Operation\(number)", refused: true, now: Int64(number))
            }
        }
        flood(0..<2000)
        let before = samples(registry).count
        for round in 1..<20 {
            flood((round * 2000)..<((round + 1) * 2000))
            let names = samples(registry).filter { $0.contains("_applications_total{") }
            #expect(names.count <= 101)
        }
        #expect(samples(registry).count <= before)
    }

    @Test("What is expected of account calls is there before the first one")
    func expectedCalls() {
        let success = AccountTally.Key(operation: "register", result: "success")
        let refused = AccountTally.Key(operation: "login", result: "refused", reason: .token(.expired))
        let calls = AccountTally(expected: [success, refused, success])
        #expect(calls.snapshot.map(\.key) == [refused, success])
        #expect(calls.snapshot.map(\.count) == [0, 0])
        calls.count(success)
        #expect(calls.snapshot.map(\.count) == [0, 1])
    }

    @Test("Readings are taken when metrics are asked for")
    func readings() {
        let registry = MetricsRegistry(labels: Self.labels) {
            MetricsReadings(
                keySets: [
                    .init(issuer: "users", refreshes: 3, failures: 1, ageSeconds: 12.5, endsInSeconds: 86_400),
                    .init(issuer: "staff", refreshes: 0, failures: 4, ageSeconds: nil),
                ], linesLost: [("access", 7)], isReady: false)
        }
        let samples = samples(registry)
        #expect(samples.contains(#"gatehouse_key_set_refreshes_total{issuer="users"} 3"#))
        #expect(samples.contains(#"gatehouse_key_set_failures_total{issuer="staff"} 4"#))
        #expect(samples.contains(#"gatehouse_key_set_age_seconds{issuer="users"} 12.5"#))
        #expect(samples.contains(#"gatehouse_key_set_remaining_seconds{issuer="users"} 86400"#))
        for name in ["age", "remaining"] {
            #expect(!samples.contains { $0.hasPrefix(#"gatehouse_key_set_\#(name)_seconds{issuer="staff"}"#) })
        }
        #expect(samples.contains("gatehouse_log_lines_lost_total{log=\"access\"} 7"))
        #expect(samples.contains("gatehouse_ready 0"))
        #expect(samples.contains("gatehouse_draining 0"))
    }

    @Test("Drained servers are named among all servers, and so is a gateway that drains")
    func drained() {
        let samples = samples(
            MetricsRegistry(labels: Self.labels) {
                // The last one is of an upstream that the settings have no more.
                MetricsReadings(
                    drainedServers: [("files", "f1"), ("main", "f1"), ("old", "o1")], isReady: false, isDraining: true)
            })
        let name = "gatehouse_upstream_server_drained"
        #expect(
            samples.filter { $0.hasPrefix(name) } == [
                #"\#(name){upstream="main",server="m1"} 0"#, #"\#(name){upstream="files",server="f1"} 1"#,
            ])
        #expect(samples.contains("gatehouse_draining 1"))
    }

    @Test("Under other labels, what keeps its name goes on counting, wherever it stands now")
    func successors() {
        let before = MetricsLabels(
            routes: ["a", "b"], upstreams: ["u", "v"], servers: [["1", "2"], ["1"]],
            denialReasons: ["expired", "no-route"])
        let after = MetricsLabels(
            routes: ["new", "b"], upstreams: ["v", "u"], servers: [["1"], ["2", "3"]], denialReasons: ["no-route"])
        let registry = MetricsRegistry(labels: before)
        let old = [registry.makeLoopMetrics(), registry.makeLoopMetrics()]
        let new = registry.successors(after)
        // Both count for a while: requests that began before end with the labels they began with.
        for (old, new) in zip(old, new) {
            old.requestBegan()
            old.requestEnded(route: 1, status: 200, duration: 1, upstreamDuration: 1)
            new.requestBegan()
            new.requestEnded(route: 1, status: 200, duration: 1, upstreamDuration: nil)
            old.requestEnded(route: 0, status: 200, duration: 1, upstreamDuration: nil)
            new.requestEnded(route: 0, status: 200, duration: 1, upstreamDuration: nil)
            old.requestEnded(route: nil, status: 404, duration: 1, upstreamDuration: nil)
            new.requestEnded(route: nil, status: 404, duration: 1, upstreamDuration: nil)
            old.upstreamFailed(0)
            new.upstreamFailed(1)
            old.serverBegan(1)
            new.serverBegan(1)
            old.serverEnded(1)
            old.denied(.request(.noRoute))
            new.denied(.request(.noRoute))
            old.denied(.request(.overloaded))
            old.connectionOpened()
            new.connectionClosed()
            old.received(bytes: 3)
            old.tokenCacheHit()
        }
        registry.use(new)
        let samples = samples(registry)
        for expected in [
            #"gatehouse_requests_total{route="b",method="safe",status="2xx"} 4"#,
            #"gatehouse_requests_total{route="new",method="safe",status="2xx"} 2"#,
            #"gatehouse_requests_total{route="none",method="safe",status="4xx"} 4"#,
            #"gatehouse_upstream_failures_total{upstream="u"} 4"#,
            #"gatehouse_upstream_failures_total{upstream="v"} 0"#,
            #"gatehouse_upstream_server_requests_total{upstream="u",server="2"} 4"#,
            #"gatehouse_upstream_server_requests_in_flight{upstream="u",server="2"} 2"#,
            #"gatehouse_upstream_server_requests_total{upstream="u",server="3"} 0"#,
            #"gatehouse_upstream_server_requests_total{upstream="v",server="1"} 0"#,
            #"gatehouse_denials_total{reason="no-route"} 4"#, #"gatehouse_denials_total{reason="other"} 2"#,
            "gatehouse_client_connections_open 0", "gatehouse_client_connections_total 2",
            "gatehouse_client_received_bytes_total 6", #"gatehouse_token_cache_total{result="hit"} 2"#,
            #"gatehouse_request_duration_seconds_count{route="b"} 4"#,
            #"gatehouse_request_duration_seconds_count{route="none"} 4"#,
            #"gatehouse_upstream_duration_seconds_count{route="b"} 2"#,
        ] {
            #expect(samples.contains(Substring(expected)), "\(expected) is missing")
        }
        #expect(!samples.contains { $0.contains(#"route="a""#) })
    }

    @Test("Reloads are counted by result")
    func reloads() {
        var reloads = MetricsReadings.Reloads(lastSuccess: 1_780_000_000)
        reloads.succeeded = 2
        reloads.failed = 1
        reloads.lastFailed = true
        (reloads.files.used, reloads.files.refused, reloads.files.keptOut) = (5, 4, 3)
        let samples = samples(
            MetricsRegistry(labels: Self.labels) { [reloads] in MetricsReadings(reloads: reloads) })
        #expect(samples.contains(#"gatehouse_file_changes_total{result="success"} 5"#))
        #expect(samples.contains(#"gatehouse_file_changes_total{result="failure"} 4"#))
        #expect(samples.contains("gatehouse_files_refused 3"))
        #expect(samples.contains("gatehouse_config_last_reload_successful 0"))
        #expect(samples.contains(#"gatehouse_config_reloads_total{result="success"} 2"#))
        #expect(samples.contains(#"gatehouse_config_reloads_total{result="failure"} 1"#))
        #expect(samples.contains("gatehouse_config_last_success_timestamp_seconds 1780000000"))
    }

    @Test("When certificates end is told by listener and name, the first to end of those for the same")
    func certificates() {
        let none = samples(MetricsRegistry(labels: Self.labels) { MetricsReadings() })
        #expect(!none.contains { $0.contains("certificate") })
        let some = samples(
            MetricsRegistry(labels: Self.labels) {
                MetricsReadings(certificates: [
                    .init(listener: "[::]:443", name: "b.test", expiresAt: 1_900_000_000),
                    .init(listener: "[::]:443", name: "a.test", expiresAt: 1_900_000_002),
                    .init(listener: "[::]:443", name: "a.test", expiresAt: 1_900_000_001),
                    .init(listener: "[::]:444", name: "", expiresAt: -1),
                ])
            })
        let name = "gatehouse_certificate_expires_timestamp_seconds"
        #expect(
            some.filter { $0.hasPrefix("\(name){") } == [
                #"\#(name){listener="[::]:443",certificate="a.test"} 1900000001"#,
                #"\#(name){listener="[::]:443",certificate="b.test"} 1900000000"#,
                #"\#(name){listener="[::]:444",certificate=""} -1"#,
            ])
    }

    @Test("Revocations and the age of the assertions' key are told where there are such")
    func keysAndRevocations() {
        let none = samples(MetricsRegistry(labels: Self.labels) { MetricsReadings() })
        #expect(!none.contains { $0.contains("revocation") || $0.contains("assertion") })
        let some = samples(
            MetricsRegistry(labels: Self.labels) {
                MetricsReadings(
                    revocations: .init(entries: 3, limit: 9, failures: 1, superseded: 7), assertionKeyAge: 60,
                    ownKeys: [("assertion", nil), ("session", "sealed")])
            })
        for expected in [
            "gatehouse_revocations 3", "gatehouse_revocations_limit 9", "gatehouse_revocation_failures_total 1",
            "gatehouse_superseded_sessions 7", "gatehouse_assertion_key_age_seconds 60.0",
            #"gatehouse_keys_readable{purpose="assertion"} 1"#, #"gatehouse_keys_readable{purpose="session"} 0"#,
        ] {
            #expect(some.contains(Substring(expected)), "\(expected)")
        }
    }

    @Test("A shared list of revocations, the database and the other gateways are told where there are such")
    func sharedDatabase() {
        let none = samples(
            MetricsRegistry(labels: Self.labels) {
                MetricsReadings(revocations: .init(entries: 1, limit: 2, failures: 0))
            })
        #expect(!none.contains { $0.contains("gatehouse_store_") || $0.contains("replicas") || $0.contains("list") })
        let database = MetricsReadings.Database(
            open: 5, idle: 2, made: 9, failed: 1, waiting: 3, limits: [0.001, 0.5], durations: [4, 2, 1], total: 2.5,
            errors: [("connection", 7), ("deadline", 0)])
        let some = samples(
            MetricsRegistry(labels: Self.labels) {
                MetricsReadings(
                    revocations: .init(
                        entries: 1, limit: 2, failures: 0, shared: .init(age: 12, isTooOld: true, isNotified: false)),
                    database: database, replicas: [("alive", 2), ("lost", 1)])
            })
        for expected in [
            "gatehouse_revocation_list_age_seconds 12", "gatehouse_revocation_list_too_old 1",
            "gatehouse_revocation_list_notified 0", "gatehouse_store_connections_open 5",
            "gatehouse_store_connections_idle 2", "gatehouse_store_connections_made_total 9",
            "gatehouse_store_connections_failed_total 1", "gatehouse_store_callers_waiting 3",
            #"gatehouse_store_statement_duration_seconds_bucket{database="postgresql",le="0.001"} 4"#,
            #"gatehouse_store_statement_duration_seconds_bucket{database="postgresql",le="0.5"} 6"#,
            #"gatehouse_store_statement_duration_seconds_bucket{database="postgresql",le="+Inf"} 7"#,
            #"gatehouse_store_statement_duration_seconds_sum{database="postgresql"} 2.5"#,
            #"gatehouse_store_errors_total{cause="connection"} 7"#,
            #"gatehouse_store_errors_total{cause="deadline"} 0"#,
            #"gatehouse_replicas{state="alive"} 2"#, #"gatehouse_replicas{state="lost"} 1"#,
        ] {
            #expect(some.contains(Substring(expected)), "\(expected)")
        }
    }

    /// The format's rules: each sample belongs to the metric whose HELP and TYPE came last, none is given twice, and
    /// the text ends with a newline.
    @Test("The text keeps the format's rules")
    func format() throws {
        let registry = MetricsRegistry(labels: Self.labels)
        registry.makeLoopMetrics().requestEnded(route: 0, status: 500, duration: 1, upstreamDuration: 1)
        let text = registry.render()
        #expect(text.hasSuffix("\n"))
        var metric = ""
        var seen: Set<Substring> = []
        var names: Set<String> = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if line.hasPrefix("# HELP ") {
                metric = String(line.dropFirst(7).prefix { $0 != " " })
                #expect(names.insert(metric).inserted, "\(metric) is there twice")
            } else if line.hasPrefix("# TYPE ") {
                #expect(line.dropFirst(7).hasPrefix(metric + " "))
            } else {
                let name = line.prefix { $0 != " " && $0 != "{" }
                #expect(["", "_bucket", "_sum", "_count"].contains { metric + $0 == name }, "\(line)")
                let key = try #require(line.lastIndex(of: " ").map { line[..<$0] })
                #expect(seen.insert(key).inserted, "\(key) is there twice")
                #expect(Double(line[key.endIndex...].dropFirst()) != nil, "\(line)")
            }
        }
        #expect(names.allSatisfy { $0.hasPrefix("gatehouse_") })
    }

    @Test(
        "A duration counts under the first limit that is not below it",
        arguments: [
            (0, "0.0005"), (500, "0.0005"), (501, "0.001"), (30_000_000, "30"), (30_000_001, "+Inf"),
        ] as [(Int64, String)])
    func buckets(microseconds: Int64, limit: String) throws {
        #expect(DurationHistogram.limits.map { Double($0) / 1_000_000 } == DurationHistogram.labels.map(Double.init))
        let family = CounterFamily(count: 3 * DurationHistogram.width)
        family.observe(microseconds: microseconds, row: 1)
        let row = family.values.dropFirst(DurationHistogram.width).dropLast(DurationHistogram.width)
        #expect(row.last == microseconds)
        let index = try #require(row.dropLast().firstIndex { $0 > 0 }) - row.startIndex
        #expect((DurationHistogram.labels + ["+Inf"])[index] == limit)
        #expect(family.values.reduce(0, +) == microseconds + 1, "the other rows have nothing")
    }

    @Test(
        "Seconds are exact",
        arguments: [
            (0, "0.000000"), (1, "0.000001"), (1_234_567, "1.234567"), (-1, "-0.000001"), (60_000_000, "60.000000"),
        ] as [(Int64, String)])
    func seconds(microseconds: Int64, expected: String) {
        #expect(PrometheusText.seconds(microseconds: microseconds) == expected)
    }
}
