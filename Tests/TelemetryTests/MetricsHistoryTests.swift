import Encoding
import Pipeline
import Testing

@testable import Telemetry

@Suite("The last hour of metrics")
struct MetricsHistoryTests {
    private static let began = ContinuousClock.now

    private func history(of totals: [MetricsTotals], every seconds: Int = 15) -> JSONObject {
        let history = MetricsHistory(
            MetricsRegistry(labels: MetricsLabels(routes: [], upstreams: [], denialReasons: [])))
        for (index, each) in totals.enumerated() {
            history.add(each, at: Self.began + .seconds(seconds * index), time: Int64(1_000_000 + seconds * index))
        }
        return history.document(now: 2_000_000)
    }

    private func values(_ name: String, of document: JSONObject) -> [String] {
        (document["series"]?[name]?.arrayValue ?? []).map { value in
            if case .number(let number) = value { number.text } else { "null" }
        }
    }

    /// Returns -1 for each time that is not an integer.
    private func times(of document: JSONObject) -> [Int64] {
        (document["times"]?.arrayValue ?? []).map { $0.numberValue?.integerValue ?? -1 }
    }

    @Test("A point has the rates of the time since the one before")
    func rates() {
        var first = MetricsTotals(requests: 100, clientErrors: 10, serverErrors: 1, signIns: 4, signInsRefused: 2)
        first.cpuTime = 1_000_000
        var second = MetricsTotals(requests: 250, clientErrors: 25, serverErrors: 1, signIns: 9, signInsRefused: 2)
        (second.cpuTime, second.residentBytes, second.openDescriptors) = (8_500_000, 64 << 20, 40)
        (second.requestsInFlight, second.connectionsOpen) = (3, 12)
        let document = history(of: [first, second])
        #expect(times(of: document) == [1_000_015])
        #expect(document["now"]?.numberValue?.integerValue == 2_000_000)
        #expect(document["interval_seconds"]?.numberValue?.integerValue == 15)
        for (name, expected) in [
            ("requests_per_second", "10.0"), ("client_errors_per_second", "1.0"), ("server_errors_per_second", "0.0"),
            ("sign_ins_per_minute", "20.0"), ("sign_ins_refused_per_minute", "0.0"), ("cpu_cores", "0.5"),
            ("resident_bytes", "67108864.0"), ("open_descriptors", "40.0"), ("requests_in_flight", "3.0"),
            ("connections_open", "12.0"),
        ] {
            #expect(values(name, of: document) == [expected], "\(name)")
        }
    }

    @Test("Latencies are of the requests of one interval, and null without any")
    func latencies() {
        var totals = [MetricsTotals(), MetricsTotals(), MetricsTotals()]
        for index in totals.indices {
            totals[index].requestDurations = Array(repeating: 0, count: DurationHistogram.width - 1)
            totals[index].gatewayDurations = totals[index].requestDurations
            totals[index].upstreamDurations = totals[index].requestDurations
        }
        // 100 requests between 1 and 2.5 ms, in the second interval alone.
        totals[2].requestDurations[2] = 100
        let document = history(of: totals)
        #expect(values("request_p50_seconds", of: document) == ["null", "0.00175"])
        #expect(values("request_p99_seconds", of: document) == ["null", "0.002485"])
        #expect(values("gateway_p50_seconds", of: document) == ["null", "null"])
    }

    @Test("Quantiles of the lowest and the highest bucket are their limits")
    func limits() {
        var row = Array(repeating: Int64(0), count: DurationHistogram.width - 1)
        #expect(DurationRow.quantile(0.5, of: row) == nil)
        row[0] = 4
        #expect(DurationRow.quantile(0.5, of: row) == 0.0005)
        row = row.map { _ in 0 }
        row[row.count - 1] = 4
        #expect(DurationRow.quantile(0.5, of: row) == 30)
    }

    @Test("An hour is kept, the newest points last")
    func bounded() {
        let totals = (0...300).map { MetricsTotals(requests: Int64($0) * 30) }
        let document = history(of: totals)
        #expect(times(of: document).count == MetricsHistory.capacity)
        #expect(times(of: document).first == Int64(1_000_000 + 15 * 61))
        #expect(times(of: document).last == Int64(1_000_000 + 15 * 300))
        #expect(Set(values("requests_per_second", of: document)) == ["2.0"])
    }

    @Test("Nothing is known after one moment, nor of no time")
    func needsTwo() {
        #expect(times(of: history(of: [MetricsTotals()])).isEmpty)
        #expect(times(of: history(of: [MetricsTotals(), MetricsTotals()], every: 0)).isEmpty)
    }

    @Test("A count that begins anew gives no negative rate")
    func countsAnew() {
        let document = history(of: [MetricsTotals(requests: 500), MetricsTotals(requests: 2)])
        #expect(values("requests_per_second", of: document) == ["0.0"])
    }

    @Test("Totals are over all routes, methods and event loops")
    func totals() {
        let registry = MetricsRegistry(
            labels: MetricsLabels(
                routes: ["a", "b"], upstreams: [], denialReasons: []))
        for loop in [registry.makeLoopMetrics(), registry.makeLoopMetrics()] {
            for _ in 0..<4 { loop.requestBegan() }
            loop.requestEnded(route: 0, status: 200, duration: 900, upstreamDuration: 700)
            loop.requestEnded(route: 1, status: 404, duration: 900, upstreamDuration: nil)
            loop.requestEnded(route: nil, status: 502, duration: 900, upstreamDuration: 800)
        }
        let totals = registry.totals
        #expect([totals.requests, totals.clientErrors, totals.serverErrors, totals.requestsInFlight] == [6, 2, 2, 2])
        #expect(totals.requestDurations.reduce(0, +) == 6)
    }

    @Test("Totals have the sign-ins of all methods, and no other account calls")
    func signIns() {
        let tally = AccountTally()
        for _ in 0..<3 { tally.signIns.count(.password, .success) }
        for _ in 0..<2 { tally.signIns.count(.federated, .success) }
        tally.signIns.count(.password, .challenge)
        for method in SignInMethod.allCases { tally.signIns.count(method, .refused) }
        tally.count(.init(operation: "login", result: "success"))
        let registry = MetricsRegistry(labels: MetricsLabels(routes: [], upstreams: [], denialReasons: [])) {
            MetricsReadings(
                accountServices: .init(
                    refusals: [], calls: tally.snapshot, signIns: tally.signIns.snapshot, outboxWaiting: 0,
                    outboxDelivered: 0, outboxFailures: 0, outboxLost: 0))
        }
        let totals = registry.totals
        #expect([totals.signIns, totals.signInsRefused] == [5, Int64(SignInMethod.allCases.count)])
    }
}
