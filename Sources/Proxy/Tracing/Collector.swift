internal import Cryptography
internal import HTTPClient
internal import Settings
internal import Telemetry

/// An endpoint of a collector that accepts OTLP over HTTP in protobuf encoding.
struct Collector: Sendable {
    let endpoint: ServiceURL
    private let headers: [TracingHeaderSetting]
    private let fetcher: any Fetcher

    init(_ endpoint: ServiceURL, _ headers: [TracingHeaderSetting], fetcher: any Fetcher) {
        self.endpoint = endpoint
        self.headers = headers
        self.fetcher = fetcher
    }

    enum Outcome: Equatable {
        /// - Parameter rejected: the number of spans or data points that the collector reports as rejected.
        case taken(rejected: Int)
        case refused(String)
        case later(String, after: Duration?)
    }

    /// Sends one request. OTLP/HTTP, "Failures", defines the responses after which it may be retried.
    func post(_ body: [UInt8], deadline: Duration) async -> Outcome {
        let request = FetchRequest(
            method: "POST", url: endpoint.description,
            headers: [(name: "Content-Type", value: "application/x-protobuf")]
                + headers.map { (name: $0.name, value: $0.value.exposeText()) },
            body: body, deadline: deadline, maximumResponseBytes: 64 << 10)
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            switch response.status {
            case 200..<300: return .taken(rejected: SpanEncoder.rejected(in: response.body))
            case 429, 502, 503, 504:
                let seconds = response.header("retry-after").flatMap { Int($0) }.map { min(max($0, 0), 30) }
                return .later("status \(response.status)", after: seconds.map { .seconds($0) })
            default: return .refused("status \(response.status)")
            }
        } catch {
            return .later("\(error)", after: nil)
        }
    }
}
