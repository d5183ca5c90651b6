internal import Encoding
internal import Locking
internal import Pipeline

/// All event loops' counters, summed when they are asked for.
///
/// Not swift-metrics: there a counter is found by its labels' texts, and is shared by all threads. Here a loop changes
/// counters of its own, found by index: all of a request's take 206 instructions (callgrind), where six of
/// swift-metrics take 9 000, or 430 when their handlers are kept. No library that the gateway uses reports through
/// swift-metrics.
package final class MetricsRegistry: Sendable {
    private struct Counted {
        var labels: MetricsLabels
        var loops: [LoopMetrics] = []
    }

    private let counted: Locked<Counted>
    private let readings: @Sendable () -> MetricsReadings

    /// `readings` is called at each ``render()``, on its thread.
    package init(labels: MetricsLabels, readings: @escaping @Sendable () -> MetricsReadings = { MetricsReadings() }) {
        counted = Locked(Counted(labels: labels))
        self.readings = readings
    }

    /// The counters for one event loop.
    package func makeLoopMetrics() -> LoopMetrics {
        counted.withLock { counted in
            let metrics = LoopMetrics(counted.labels)
            counted.loops.append(metrics)
            return metrics
        }
    }

    /// The counters for all event loops under other labels, in the order they were made. A label that exists before and
    /// after goes on counting, whichever of the two it is counted with. The successors are shown from ``use(_:)`` on.
    package func successors(_ labels: MetricsLabels) -> [LoopMetrics] {
        counted.withLock { $0.loops }.map { LoopMetrics(labels, continuing: $0) }
    }

    /// Shows ``successors(_:)`` from now on.
    package func use(_ successors: [LoopMetrics]) {
        guard let labels = successors.first?.labels else { return }
        counted.withLock { $0 = Counted(labels: labels, loops: successors) }
    }

    /// Calls that apps sent to Cognito itself, by operation: those that there were.
    package var directCognitoCalls: [(operation: String, calls: Int64)] {
        let (labels, loops) = counted.withLock { ($0.labels, $0.loops) }
        return zip(labels.directCognitoOperations + ["other"], sum(loops, labels, \.directCognito))
            .filter { $0.1 > 0 }.map { ($0.0, $0.1) }
    }

    /// Counts of the requests to one server.
    package struct ServerReading: Sendable {
        package var upstream: String
        package var server: String
        package var requests: Int64
        package var failures: Int64
        package var ejections: Int64
        package var inFlight: Int64
        /// Whether it gets requests from every event loop.
        package var isUp: Bool
    }

    package var servers: [ServerReading] {
        let (labels, loops) = counted.withLock { ($0.labels, $0.loops) }
        let names = zip(labels.upstreams, labels.servers).flatMap { upstream, servers in
            servers.map { (upstream, $0) }
        }
        let requests = sum(loops, labels, \.serverRequests)
        let failures = sum(loops, labels, \.serverFailures)
        let ejections = sum(loops, labels, \.serverEjections)
        let (inFlight, absent) = (sum(loops, labels, \.serverInFlight), sum(loops, labels, \.serverAbsent))
        return names.enumerated().map { index, name in
            ServerReading(
                upstream: name.0, server: name.1, requests: requests[index], failures: failures[index],
                ejections: ejections[index], inFlight: inFlight[index], isUp: absent[index] == 0)
        }
    }

    package var requestsInFlight: Int64 { sum(counted.withLock { $0.loops }, \.requestsInFlight) }
    package var connectionsOpen: Int64 { sum(counted.withLock { $0.loops }, \.connectionsOpen) }

    /// The `Content-Type` of ``render()``'s text.
    package static var contentType: String { PrometheusText.contentType }

    /// All metrics in Prometheus' text format 0.0.4.
    package func render() -> String {
        let (labels, loops) = counted.withLock { ($0.labels, $0.loops) }
        let readings = readings()
        var text = PrometheusText()
        writeRequests(loops, labels, to: &text)
        writeClients(loops, labels, to: &text)
        writeUpstreams(loops, labels, to: &text)
        writeServers(loops, labels, to: &text)
        writeEventLoops(loops, to: &text)
        text.write(readings.nameLookups)
        writeKeySets(readings.keySets, to: &text)
        text.write(readings.certificates)
        text.write(readings.directCalls)
        if let accountServices = readings.accountServices { text.write(accountServices) }
        if let revocations = readings.revocations { text.write(revocations) }
        if let age = readings.assertionKeyAge {
            text.metric("gatehouse_assertion_key_age_seconds", .gauge, "How long the key of assertions has signed.")
            text.sample("gatehouse_assertion_key_age_seconds", [], String(age))
        }
        if let reloads = readings.reloads { text.write(reloads) }
        text.family(
            "gatehouse_log_lines_lost_total", "Lines that were not written, as on a full disk, by log.", label: "log",
            values: readings.linesLost.map(\.log), other: nil, readings.linesLost.map { Int64($0.count) })
        text.single(
            "gatehouse_spans_exported_total", .counter, "Spans that the collector took.",
            Int64(readings.spans.exported))
        text.single(
            "gatehouse_spans_lost_total", .counter, "Spans that it did not take, or not in time.",
            Int64(readings.spans.lost))
        if let isWritable = readings.storeIsWritable {
            text.single("gatehouse_store_writable", .gauge, "Whether the store can be written.", isWritable ? 1 : 0)
        }
        text.single("gatehouse_ready", .gauge, "Whether the gateway takes traffic.", readings.isReady ? 1 : 0)
        text.metric("gatehouse_build_info", .gauge, "Always 1; the version is a label.")
        text.sample("gatehouse_build_info", [("version", readings.version)], "1")
        if let process = readings.process { text.write(process) }
        return text.text
    }

    private func writeRequests(_ loops: [LoopMetrics], _ labels: MetricsLabels, to text: inout PrometheusText) {
        let counts = sum(loops, labels, \.requests)
        let classes = StatusClass.labels
        text.metric("gatehouse_requests_total", .counter, "Requests by route and classes of method and status.")
        for (routeIndex, route) in (labels.routes + ["none"]).enumerated() {
            for (methodIndex, method) in MethodClass.labels.enumerated() {
                for (classIndex, status) in classes.enumerated() {
                    let row = routeIndex * MethodClass.labels.count + methodIndex
                    let count = counts[row * classes.count + classIndex]
                    // Redirections and interim responses are rare. The others are there before their first: rates see
                    // it.
                    guard count > 0 || ["2xx", "4xx", "5xx"].contains(status) else { continue }
                    text.sample(
                        "gatehouse_requests_total", [("route", route), ("method", method), ("status", status)],
                        String(count))
                }
            }
        }
        text.single(
            "gatehouse_requests_in_flight", .gauge, "Requests whose response has not ended.",
            sum(loops, \.requestsInFlight))
        text.single(
            "gatehouse_responses_unsent", .gauge, "Responses that have ended and wait for their clients.",
            sum(loops, \.responsesUnsent))
        writeDurations(
            "gatehouse_request_duration_seconds", "From a request's first byte to its response's last, by route.",
            labels, sum(loops, labels, \.requestDuration), to: &text)
        text.family(
            "gatehouse_denials_total", "Requests refused, by reason.", label: "reason", values: labels.denialReasons,
            other: "other", sum(loops, labels, \.denials))
        text.family(
            "gatehouse_direct_cognito_calls_total", "Calls that apps sent to Cognito itself, by operation.",
            label: "operation", values: labels.directCognitoOperations, other: "other",
            sum(loops, labels, \.directCognito))
        text.metric("gatehouse_token_cache_total", .counter, "Tokens looked up among the verified ones.")
        text.sample("gatehouse_token_cache_total", [("result", "hit")], String(sum(loops, \.tokenCacheHits)))
        text.sample("gatehouse_token_cache_total", [("result", "miss")], String(sum(loops, \.tokenCacheMisses)))
    }

    private func writeClients(_ loops: [LoopMetrics], _ labels: MetricsLabels, to text: inout PrometheusText) {
        text.single(
            "gatehouse_client_connections_total", .counter, "Connections of clients that were accepted.",
            sum(loops, \.connectionsAccepted))
        text.single(
            "gatehouse_client_connections_open", .gauge, "Connections of clients that are open.",
            sum(loops, \.connectionsOpen))
        text.family(
            "gatehouse_client_connections_refused_total", "Connections of clients that were not let in, by reason.",
            label: "reason", values: labels.connectionRefusals, other: nil, sum(loops, labels, \.connectionsRefused))
        text.family(
            "gatehouse_http2_connections_failed_total",
            "HTTP/2 connections of clients that were ended for an error, by the error of their GOAWAY.",
            label: "error", values: labels.connectionErrors, other: nil, sum(loops, labels, \.connectionsFailed))
        text.single(
            "gatehouse_client_connections_evicted_total", .counter,
            "Idle connections of clients that were closed in favour of new ones.", sum(loops, \.connectionsEvicted))
        text.single(
            "gatehouse_http2_streams_total", .counter, "HTTP/2 streams that were opened.", sum(loops, \.streams))
        text.single(
            "gatehouse_http2_streams_open", .gauge, "HTTP/2 streams that are open.", sum(loops, \.streamsOpen))
        text.single(
            "gatehouse_websockets_total", .counter, "Requests that became WebSockets.", sum(loops, \.webSockets))
        text.single(
            "gatehouse_websockets_open", .gauge, "WebSockets that are open.", sum(loops, \.webSocketsOpen))
        text.single(
            "gatehouse_client_received_bytes_total", .counter, "Bytes read from clients.", sum(loops, \.bytesReceived))
        text.single(
            "gatehouse_client_sent_bytes_total", .counter, "Bytes written to clients.", sum(loops, \.bytesSent))
    }

    private func writeUpstreams(_ loops: [LoopMetrics], _ labels: MetricsLabels, to text: inout PrometheusText) {
        let families: [(String, String, KeyPath<LoopMetrics, CounterFamily>)] = [
            ("connections_opened_total", "Connections opened to upstreams.", \.upstreamOpened),
            ("connections_reused_total", "Requests that took a pooled connection.", \.upstreamReused),
            ("failures_total", "Requests that their upstream did not answer as it should.", \.upstreamFailures),
            ("retries_total", "Requests sent once more on a new connection.", \.upstreamRetries),
        ]
        for (name, help, family) in families {
            text.family(
                "gatehouse_upstream_\(name)", help, label: "upstream", values: labels.upstreams, other: nil,
                sum(loops, labels, family))
        }
        writeDurations(
            "gatehouse_upstream_duration_seconds",
            "From a request's start at its upstream to the response's last byte, by route.",
            labels, sum(loops, labels, \.upstreamDuration), to: &text)
        writeDurations(
            "gatehouse_gateway_duration_seconds",
            "What requests took without the upstream or the provider that was asked for them, by route.",
            labels, sum(loops, labels, \.gatewayDuration), to: &text)
    }

    /// Routes that nobody has asked for are left out.
    private func writeDurations(
        _ name: String, _ help: String, _ labels: MetricsLabels, _ counts: [Int64], to text: inout PrometheusText
    ) {
        text.metric(name, .histogram, help)
        for (index, route) in (labels.routes + ["none"]).enumerated() {
            let row = counts[(index * DurationHistogram.width)..<((index + 1) * DurationHistogram.width)]
            guard index == labels.routes.count || row.contains(where: { $0 > 0 }) else { continue }
            text.histogram(
                name, ("route", route), limits: DurationHistogram.labels, counts: row.dropLast(),
                sum: PrometheusText.seconds(microseconds: row.last ?? 0))
        }
    }

    private func writeServers(_ loops: [LoopMetrics], _ labels: MetricsLabels, to text: inout PrometheusText) {
        let servers = zip(labels.upstreams, labels.servers).flatMap { upstream, servers in
            servers.map { [(name: "upstream", value: upstream), (name: "server", value: $0)] }
        }
        guard !servers.isEmpty else { return }
        let families: [(String, PrometheusText.Kind, String, [Int64])] = [
            ("requests_total", .counter, "Requests sent to a server.", sum(loops, labels, \.serverRequests)),
            ("failures_total", .counter, "Requests that a server failed.", sum(loops, labels, \.serverFailures)),
            (
                "ejections_total", .counter, "Times that an event loop ejected a server.",
                sum(loops, labels, \.serverEjections)
            ),
            (
                "ejections_withheld_total", .counter,
                "Times that a server failed enough to be ejected and stayed, for want of others.",
                sum(loops, labels, \.serverWithheld)
            ),
            (
                "unsolicited_total", .counter, "Connections closed since a server sent bytes unasked.",
                sum(loops, labels, \.serverUnsolicited)
            ),
            ("requests_in_flight", .gauge, "Requests at a server.", sum(loops, labels, \.serverInFlight)),
            (
                "connections_idle", .gauge, "Pooled connections to a server that wait for a request.",
                sum(loops, labels, \.serverIdle)
            ),
            (
                "up", .gauge, "Whether a server gets requests from every event loop.",
                sum(loops, labels, \.serverAbsent).map { $0 == 0 ? 1 : 0 }
            ),
        ]
        for (name, kind, help, counts) in families {
            text.metric("gatehouse_upstream_server_\(name)", kind, help)
            for (labels, count) in zip(servers, counts) {
                text.sample("gatehouse_upstream_server_\(name)", labels, String(count))
            }
        }
    }

    private func writeEventLoops(_ loops: [LoopMetrics], to text: inout PrometheusText) {
        text.single(
            "gatehouse_event_loop_stalls_total", .counter,
            "Times that an event loop was kept from all its connections for more than 50 ms.", sum(loops, \.stalls))
        let seconds = "gatehouse_event_loop_stalled_seconds_total"
        text.metric(seconds, .counter, "How long they lasted together.")
        text.sample(seconds, [], PrometheusText.seconds(microseconds: sum(loops, \.stalledMicroseconds)))
    }

    private func writeKeySets(_ keySets: [MetricsReadings.KeySet], to text: inout PrometheusText) {
        let issuers = keySets.map(\.issuer)
        text.family(
            "gatehouse_key_set_refreshes_total", "Key sets fetched, by issuer.", label: "issuer", values: issuers,
            other: nil, keySets.map { Int64($0.refreshes) })
        text.family(
            "gatehouse_key_set_failures_total", "Key sets that could not be fetched, by issuer.", label: "issuer",
            values: issuers, other: nil, keySets.map { Int64($0.failures) })
        text.metric("gatehouse_key_set_age_seconds", .gauge, "How long ago the key set in use was fetched.")
        for keySet in keySets {
            guard let age = keySet.ageSeconds else { continue }
            text.sample("gatehouse_key_set_age_seconds", [("issuer", keySet.issuer)], String(age))
        }
    }

    private func sum(_ loops: [LoopMetrics], _ counter: KeyPath<LoopMetrics, Counter>) -> Int64 {
        loops.reduce(0) { $0 + $1[keyPath: counter].value }
    }

    /// Without a loop every sum is there as well, as zero.
    private func sum(
        _ loops: [LoopMetrics], _ labels: MetricsLabels, _ family: KeyPath<LoopMetrics, CounterFamily>
    ) -> [Int64] {
        guard let first = loops.first else { return LoopMetrics(labels)[keyPath: family].values }
        return loops.dropFirst().reduce(first[keyPath: family].values) { sums, loop in
            zip(sums, loop[keyPath: family].values).map(+)
        }
    }
}
