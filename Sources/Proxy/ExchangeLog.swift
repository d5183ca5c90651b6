internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream

/// The course of one request, gathered for its log line and the metrics.
struct ExchangeLog: ~Copyable {
    let requestID: String
    /// The client's address: the connection's peer, or the one that a trusted proxy says.
    let clientAddress: String
    /// Milliseconds since 1970.
    let startedAt: Int64
    /// Where the client's address is counted while the request is in flight; nil where it is not.
    var addressSlots: AddressSlots?
    var status = 0
    /// The status of the backend's response; nil where there was none.
    var upstreamStatus: Int?
    var bytesReceived = 0
    var bytesSent = 0
    var routeIndex: Int?
    var upstreamIndex: Int?
    var subject: String?
    /// Why it was refused or broken off.
    var reason: Reason?
    /// The upstream's failure, for people.
    var errorText: String?
    private(set) var forwardedAt: NIODeadline?
    /// The backend's part while it lasts.
    private var upstream: UpstreamExchange?
    /// The server that had it last, by its position in the upstream's settings.
    private(set) var serverNumber: Int?
    /// How often it was begun again, at this server or another.
    private var retries = 0
    /// Nil where no spans are made.
    var trace: ExchangeTrace?
    private var upstreamDuration: TimeAmount?
    /// How long the gateway's own endpoint has waited for Cognito, Apple or a backend.
    var waited = Duration.zero

    init(requestID: String, clientAddress: String, startedAt: Int64) {
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.startedAt = startedAt
    }

    /// The backend's part begins.
    mutating func forwarding() { forwardedAt = .now() }

    /// It is on its way.
    mutating func forwarded(as upstream: UpstreamExchange) { self.upstream = upstream }

    /// The backend's part has come to its end, good or bad.
    mutating func upstreamEnded(at now: NIODeadline = .now()) {
        guard let forwardedAt else { return }
        upstreamDuration = now - forwardedAt
        guard let upstream = upstream.take() else { return }
        (serverNumber, retries) = (upstream.serverNumber, upstream.retries)
    }

    /// How long the backend took, in microseconds; nil for a request that went to none.
    var backendMicroseconds: Int64? { upstreamDuration.map { $0.nanoseconds / 1000 } }

    /// How long others took, in microseconds: the backend, and whom an endpoint of the gateway's own has asked; nil
    /// where nobody was.
    var upstreamMicroseconds: Int64? {
        guard waited > .zero else { return backendMicroseconds }
        return Int64(waited / .microseconds(1)) + (backendMicroseconds ?? 0)
    }

    /// How long the whole took, in microseconds.
    func duration(of request: InboundRequest, endedAt: NIODeadline) -> Int64 {
        (endedAt - request.receivedAt).nanoseconds / 1000
    }

    /// The line of a request that has come to its end.
    func record(of request: InboundRequest, route: String?, server: String?, endedAt: NIODeadline) -> AccessRecord {
        AccessRecord(
            time: startedAt, requestID: requestID, clientAddress: clientAddress,
            method: request.head.method.rawValue, target: request.head.path ?? "", status: status,
            bytesSent: Int64(bytesSent), duration: duration(of: request, endedAt: endedAt),
            upstreamDuration: upstreamMicroseconds, server: server, retries: retries, route: route, subject: subject,
            denialReason: reason?.code, decisionFor: request.authorization?.proxy.rawValue, trace: trace?.ids,
            host: request.head.authority, userAgent: request.head.headerFields[.userAgent], spoken: request.spoken,
            bytesReceived: Int64(bytesReceived), upstreamStatus: upstreamStatus)
    }
}
