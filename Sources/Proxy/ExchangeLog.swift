internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream

/// The data of one request for its log line and the metrics.
struct ExchangeLog: ~Copyable {
    let requestID: String
    /// The client's address: the connection's peer, or the address that a trusted proxy reports.
    let clientAddress: String
    /// Milliseconds since 1970.
    let startedAt: Int64
    /// The counters of the client's address while the request is in flight; nil if the address is not counted.
    var addressSlots: AddressCounters?
    var status = 0
    /// The status of the backend's response; nil if there was none.
    var upstreamStatus: Int?
    var bytesReceived = 0
    var bytesSent = 0
    var routeIndex: Int?
    var upstreamIndex: Int?
    var subject: String?
    /// The reason why the request was refused or its response aborted.
    var reason: Reason?
    /// The upstream's error as human-readable text.
    var errorText: String?
    private(set) var forwardedAt: NIODeadline?
    /// The exchange with the backend while it is active.
    private var upstream: UpstreamExchange?
    /// The last server that received the request, as an index into the upstream's servers.
    private(set) var serverNumber: Int?
    /// The number of retries, at the same server or another.
    private var retries = 0
    /// The request's trace; nil if tracing is off.
    var trace: ExchangeTrace?
    private var upstreamDuration: TimeAmount?
    /// The time that the gateway's own endpoint has waited for Cognito, Apple or a backend.
    var waited = Duration.zero

    init(requestID: String, clientAddress: String, startedAt: Int64) {
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.startedAt = startedAt
    }

    /// Notes the time at which forwarding begins.
    mutating func forwarding() { forwardedAt = .now() }

    /// Stores the exchange with the backend once the request is sent.
    mutating func forwarded(as upstream: UpstreamExchange) { self.upstream = upstream }

    /// Notes the end of the exchange with the backend, successful or not.
    mutating func upstreamEnded(at now: NIODeadline = .now()) {
        guard let forwardedAt else { return }
        upstreamDuration = now - forwardedAt
        guard let upstream = upstream.take() else { return }
        (serverNumber, retries) = (upstream.serverNumber, upstream.retries)
    }

    /// The time that the backend took, in microseconds; nil if the request was not forwarded.
    var backendMicroseconds: Int64? { upstreamDuration.map { $0.nanoseconds / 1000 } }

    /// The time spent in other services, in microseconds: in the backend, and in services that an endpoint of the
    /// gateway called. Nil if there were none.
    var upstreamMicroseconds: Int64? {
        guard waited > .zero else { return backendMicroseconds }
        return Int64(waited / .microseconds(1)) + (backendMicroseconds ?? 0)
    }

    /// The duration of the whole request, in microseconds.
    func duration(of request: InboundRequest, endedAt: NIODeadline) -> Int64 {
        (endedAt - request.receivedAt).nanoseconds / 1000
    }

    /// The access log record of a finished request.
    func record(of request: InboundRequest, route: String?, server: String?, endedAt: NIODeadline) -> AccessRecord {
        AccessRecord(
            time: startedAt, requestID: requestID, clientAddress: clientAddress,
            method: request.head.method.rawValue, target: request.head.path ?? "", status: status,
            bytesSent: Int64(bytesSent), duration: duration(of: request, endedAt: endedAt),
            upstreamDuration: upstreamMicroseconds, server: server, retries: retries, route: route, subject: subject,
            denialReason: reason?.code, decisionFor: request.authorization?.proxy.rawValue, trace: trace?.ids,
            host: request.head.authority, userAgent: request.head.headerFields[.userAgent],
            clientProtocol: request.clientProtocol,
            bytesReceived: Int64(bytesReceived), upstreamStatus: upstreamStatus)
    }
}
