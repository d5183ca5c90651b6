internal import Clocks
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Listener
package import NIOCore
internal import Pipeline
internal import Proxy
internal import Settings
package import Telemetry

/// The admin listener: liveness, readiness, metrics, status and dashboard, and changes for callers whose token permits
/// them.
package final class AdminService: RequestService {
    private let eventLoop: any EventLoop
    private let metrics: MetricsRegistry
    private let history: MetricsHistory
    private let status: GatewayStatus
    private let changes: AdminChanges

    package init(
        eventLoop: any EventLoop, metrics: MetricsRegistry, history: MetricsHistory, status: GatewayStatus,
        changes: AdminChanges
    ) {
        self.eventLoop = eventLoop
        self.metrics = metrics
        self.history = history
        self.status = status
        self.changes = changes
    }

    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        let call = AdminCall(request.head.method, path: request.head.path ?? "")
        let token: AdminToken?
        switch admission(of: call, request) {
        case .refused(let refusal):
            let (head, body) = Self.refusal(refusal)
            writer.answer(head, body)
            return IgnoringSink()
        case .admitted(let owned): token = owned
        }
        switch call {
        case .page(let page):
            let (head, body) = show(page, to: token)
            writer.answer(head, body)
            return IgnoringSink()
        case .change(let change):
            let exchange = AdminExchange(
                change, writer, changes: changes, caller: AdminCaller(name: token?.name, address: request.peer),
                eventLoop: eventLoop)
            if request.body == .none { exchange.receiveEnd() }
            return exchange
        case .notFound, .methodNotAllowed:
            preconditionFailure("these are refused")
        }
    }

    private enum Admission {
        /// Admitted with this token; nil if no token is required.
        case admitted(AdminToken?)
        case refused(Refusal)
    }

    private func admission(of call: AdminCall, _ request: InboundRequest) -> Admission {
        switch call {
        case .notFound: return .refused(.notFound())
        case .methodNotAllowed(let allow): return .refused(.methodNotAllowed(allow))
        case .page, .change: break
        }
        guard let right = call.right else { return .admitted(nil) }
        let admin = status.admin
        guard let admin, !admin.tokens.isEmpty else {
            guard case .page = call else { return .refused(Self.denied("This takes admin.token.")) }
            guard admin?.isLocal != true || Self.namesThisMachine(request.head.authority) else {
                return .refused(Self.denied("Ask by address or as localhost, or set admin.token."))
            }
            return .admitted(nil)
        }
        guard case .value(let value, let prefix) = BearerToken(of: request.head),
            let token = admin.owner(of: Secret(Array(value.utf8.dropFirst(prefix))))
        else { return .refused(.tokenMissing()) }
        guard token.allows(right) else {
            changes.report(AdminCaller(name: token.name, address: request.peer), lacks: right)
            return .refused(Self.denied("This token may not do that."))
        }
        return .admitted(token)
    }

    private static func denied(_ message: String) -> Refusal {
        Refusal(.accessDenied, message: message, reason: .request(.tokenMissing))
    }

    /// Whether an authority is `localhost` or an IP address. Other names are refused: a website can point a name of its
    /// own at this machine (DNS rebinding), and its pages could then read the responses.
    static func namesThisMachine(_ authority: String?) -> Bool {
        guard let authority else { return true }
        let host =
            authority.hasPrefix("[") ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return host.lowercased() == "localhost" || IPAddress(host) != nil
    }

    private func show(_ page: AdminCall.Page, to token: AdminToken?) -> (HTTPResponse, ByteBuffer) {
        switch page {
        case .alive: return Self.text(.ok, "ok\n")
        case .status: return Self.text(.ok, StatusPage.text(metrics, status, token), type: "application/json")
        case .history:
            let document = history.document(now: WallClock.seconds())
            return Self.text(
                .ok, String(decoding: document.encoded(), as: UTF8.self) + "\n", type: "application/json")
        case .metrics: return Self.text(.ok, metrics.render(), type: MetricsRegistry.contentType)
        case .dashboard:
            var (head, body) = Self.text(.ok, DashboardPage.text, type: "text/html; charset=utf-8")
            head.headerFields.append(contentsOf: DashboardPage.fields)
            return (head, body)
        case .ready:
            let report = status.readiness
            return Self.text(report.isReady ? .ok : .serviceUnavailable, report.text)
        }
    }

    fileprivate static func text(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
    ) -> (HTTPResponse, ByteBuffer) {
        let head = HTTPResponse(
            status: status,
            headerFields: [.contentType: type, .cacheControl: "no-store", .contentLength: String(text.utf8.count)])
        return (head, ByteBuffer(string: text))
    }

    fileprivate static func refusal(_ refusal: Refusal) -> (HTTPResponse, ByteBuffer) {
        refusal.answer(requestID: AdminRequestID.make())
    }

    func refuse(_ error: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        Self.refusal(Refusal(error))
    }

    func refuseConnection(_ refusal: ConnectionRefusal, peer: String) {}
    func connectionFailed(_ error: HTTP2ConnectionError) {}
    func connectionEvicted() {}
    func connectionOpened() {}
    func connectionClosed() {}
    func streamOpened() {}
    func streamClosed() {}
}

/// The sink of requests whose body is ignored.
private final class IgnoringSink: ExchangeSink {
    func receive(_ body: ByteBuffer) -> Bool { true }
    func receiveEnd() {}
    func clientIsWritable(_ isWritable: Bool) {}
    func requestFailed(_ error: ListenerFault) {}
    func clientDisconnected() {}
}

/// One change, from its request body to its response.
private final class AdminExchange: ExchangeSink {
    private let change: AdminChange
    private let changes: AdminChanges
    private let caller: AdminCaller
    private let eventLoop: any EventLoop
    private var writer: ResponseWriter?
    private var body: [UInt8] = []
    private var hasBegun = false

    private static let bodyLimit = 4096

    init(
        _ change: AdminChange, _ writer: consuming ResponseWriter, changes: AdminChanges, caller: AdminCaller,
        eventLoop: any EventLoop
    ) {
        self.change = change
        self.changes = changes
        self.caller = caller
        self.eventLoop = eventLoop
        self.writer = consume writer
    }

    func receive(_ body: ByteBuffer) -> Bool {
        self.body.append(contentsOf: body.readableBytesView.prefix(Self.bodyLimit - self.body.count))
        return true
    }

    func receiveEnd() {
        guard !hasBegun else { return }
        hasBegun = true
        let exchange = NIOLoopBound(self, eventLoop: eventLoop)
        changes.callsUnderWay.begin()
        Task { [changes, change, body, caller, eventLoop] in
            defer { changes.callsUnderWay.end() }
            let answer = await changes.perform(change, body: body, for: caller)
            eventLoop.execute { exchange.value.finish(answer) }
        }
    }

    private func finish(_ answer: AdminAnswer) {
        if let refusal = answer.refusal {
            let (head, body) = refusal.answer(requestID: answer.requestID)
            writer.take()?.answer(head, body)
            return
        }
        let text = String(decoding: answer.body.encoded(), as: UTF8.self) + "\n"
        let (head, body) = AdminService.text(answer.status, text, type: "application/json")
        writer.take()?.answer(head, body)
    }

    func clientIsWritable(_ isWritable: Bool) {}

    func requestFailed(_ error: ListenerFault) {
        let (head, body) = AdminService.refusal(Refusal(error))
        hasBegun = true
        writer.take()?.answer(head, body)
    }

    /// A change that has begun is completed even if its client disconnects.
    func clientDisconnected() { _ = writer.take() }
}
