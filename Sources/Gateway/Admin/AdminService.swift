internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry

/// The admin listener: liveness, readiness, metrics and status.
final class AdminService: RequestService {
    private let metrics: MetricsRegistry
    private let status: GatewayStatus

    init(metrics: MetricsRegistry, status: GatewayStatus) {
        self.metrics = metrics
        self.status = status
    }

    func begin(_ request: InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        let (head, body) = answer(request.head)
        writer.answer(head, body)
        return IgnoringSink()
    }

    private func answer(_ request: HTTPRequest) -> (HTTPResponse, ByteBuffer) {
        let path = request.path?.prefix { $0 != "?" } ?? ""
        guard ["/healthz", "/readyz", "/metrics", "/status"].contains(path) else { return Self.refusal(.notFound()) }
        guard request.method == .get || request.method == .head else {
            return Self.refusal(.methodNotAllowed([.get, .head]))
        }
        switch path {
        case "/healthz": return Self.text(.ok, "ok\n")
        case "/status": return Self.text(.ok, StatusPage.text(metrics, status), type: "application/json")
        case "/metrics": return Self.text(.ok, metrics.render(), type: MetricsRegistry.contentType)
        default:
            let report = status.readiness
            return Self.text(report.isReady ? .ok : .serviceUnavailable, report.text)
        }
    }

    private static func text(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
    ) -> (HTTPResponse, ByteBuffer) {
        let head = HTTPResponse(
            status: status,
            headerFields: [.contentType: type, .cacheControl: "no-store", .contentLength: String(text.utf8.count)])
        return (head, ByteBuffer(string: text))
    }

    private static func refusal(_ refusal: Refusal) -> (HTTPResponse, ByteBuffer) {
        refusal.answer(requestID: "admin")
    }

    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        Self.refusal(Refusal(fault))
    }

    func refuseConnection(_ refusal: ConnectionRefusal, peer: String) {}
    func connectionOpened() {}
    func connectionClosed() {}
}

/// For requests whose body says nothing.
private final class IgnoringSink: ExchangeSink {
    func receive(_ body: ByteBuffer) -> Bool { true }
    func receiveEnd() {}
    func clientIsWritable(_ isWritable: Bool) {}
    func requestFailed(_ fault: ListenerFault) {}
    func clientDisconnected() {}
}
