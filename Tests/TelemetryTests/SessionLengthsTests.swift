import Testing

@testable import Telemetry

@Suite("How long sessions lasted")
struct SessionLengthsTests {
    @Test(
        "A length counts under the first limit that it does not exceed",
        arguments: [(-5, 0), (0, 0), (300, 0), (301, 1), (86_400, 3), (31_536_000, 7), (.max, 8)] as [(Int64, Int)])
    func places(length: Int64, place: Int) throws {
        let lengths = SessionLengths()
        lengths.ended("s", by: .idle, after: length)
        let reading = try #require(lengths.snapshot.first { $0.end == .idle })
        #expect(reading.counts.count == SessionLengths.limits.count + 1)
        #expect(reading.counts.enumerated().filter { $1 > 0 }.map(\.offset) == [place])
        #expect(reading.sum == max(0, length))
        #expect(lengths.snapshot.filter { $0.end != .idle }.allSatisfy { $0.counts.allSatisfy { $0 == 0 } })
    }

    @Test("A session that is found ended again is counted once, for as many sessions as are remembered")
    func once() throws {
        let lengths = SessionLengths(capacity: 2)
        func total() -> Int64 { lengths.snapshot.flatMap(\.counts).reduce(0, +) }
        lengths.ended("a", by: .signOut, after: 10)
        lengths.ended("a", by: .revocation, after: 20)
        #expect(total() == 1)
        lengths.ended("b", by: .expiry, after: 10)
        lengths.ended("a", by: .expiry, after: 10)
        #expect(total() == 2)
        lengths.ended("c", by: .expiry, after: 10)
        lengths.ended("b", by: .expiry, after: 10)
        #expect(total() == 3)
        // The oldest is forgotten for each new one: what is remembered does not grow.
        lengths.ended("a", by: .expiry, after: 10)
        #expect(total() == 4)
    }

    @Test("They are a histogram by what ended them")
    func rendered() {
        let lengths = SessionLengths()
        lengths.ended("a", by: .signOut, after: 400)
        lengths.ended("b", by: .signOut, after: 4000)
        let registry = MetricsRegistry(labels: MetricsLabels(routes: [], upstreams: [], denialReasons: [])) {
            MetricsReadings(
                accountServices: .init(
                    refusals: [], sessionLengths: lengths.snapshot, outboxWaiting: 0, outboxDelivered: 0,
                    outboxFailures: 0, outboxLost: 0))
        }
        let samples = registry.render().split(separator: "\n")
        for expected in [
            #"gatehouse_session_length_seconds_bucket{end="sign-out",le="300"} 0"#,
            #"gatehouse_session_length_seconds_bucket{end="sign-out",le="3600"} 1"#,
            #"gatehouse_session_length_seconds_bucket{end="sign-out",le="+Inf"} 2"#,
            #"gatehouse_session_length_seconds_sum{end="sign-out"} 4400"#,
            #"gatehouse_session_length_seconds_count{end="idle"} 0"#,
        ] {
            #expect(samples.contains(Substring(expected)), "\(expected) is missing")
        }
    }
}
