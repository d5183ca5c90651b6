import Cryptography
import HTTPTypes
import Logging
import Pipeline
import Settings
import TestSupport
import Testing

@testable import Proxy
@testable import Telemetry

@Suite("Sampling of traces")
struct TraceServiceTests {
    static func service(sampling: Double, followsClient: Bool = true) throws -> TraceService {
        let yaml = """
            listeners: [{address: "127.0.0.1:8080"}]
            upstreams: {api: {url: "http://127.0.0.1:8000"}}
            routes: [{path: /, upstream: api, access: public}]
            tracing:
              endpoint: https://collector.test/v1/traces
              sampling: \(sampling)
              follow_client: \(followsClient)
            """
        let settings = try GatewaySettings.load(path: "x.yaml", environment: [:]) { _ in Array(yaml.utf8) }
        return TraceService(
            try #require(settings.tracing), fetcher: RepeatingFetcher([]), tally: SpanTally(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test("Of the traces that begin here the share is sampled", arguments: [0, 0.05, 0.5, 1])
    func share(sampling: Double) throws {
        let service = try Self.service(sampling: sampling)
        var random = FastRandom()
        let sampled = (0..<20_000).count { _ in
            service.recorder.sampler.samples(UInt128(random.next()) << 64 | UInt128(random.next()))
        }
        // Four standard deviations.
        let deviation = 4 * (20_000 * sampling * (1 - sampling)).squareRoot()
        #expect(abs(Double(sampled) - 20_000 * sampling) <= deviation)
    }

    @Test(
        "A client's trace is sampled where the client has it so, unless it is not followed",
        arguments: [(true, true, 0), (true, false, 1), (false, true, 0), (false, false, 1)] as [(Bool, Bool, Double)])
    func clients(follows: Bool, isSampled: Bool, sampling: Double) throws {
        let service = try Self.service(sampling: sampling, followsClient: follows)
        let context = TraceContext(traceID: 99, parentID: 1, isSampled: isSampled)
        #expect(service.recorder.sampler.samples(context) == (follows ? isSampled : sampling == 1))
    }
}
