package import HTTP1
package import NIOCore
package import Pipeline

/// A listener's limits for its clients, and its timeouts.
package struct ListenerSettings: Sendable {
    package var host: String
    package var port: Int
    package var head: HeadLimits
    /// For a PROXY header, and then for a TLS handshake.
    package var handshakeTimeout: TimeAmount
    /// From a request's first byte to the end of its head.
    package var headTimeout: TimeAmount
    /// Between two parts of a request's body.
    package var bodyIdleTimeout: TimeAmount
    /// Between a response and the next request, and from accept to the first byte.
    package var keepAliveTimeout: TimeAmount
    /// Connections open at once; one more is told 503 and closed.
    package var connections: Int
    /// Those of one client's address, of IPv6 of a /64; one more is treated the same.
    package var connectionsPerAddress: Int
    /// The file descriptors that its connections leave to others, of a limit of 1024 or more.
    package var descriptorReserve = 256
    /// The peers that are not counted by address: proxies that many clients are behind.
    package var trustedProxies: [IPNetwork]
    /// Bytes a second that heads and bodies must come with; 0: at any rate.
    package var leastRate: Int
    /// For how long one may come slower, or not at all.
    package var leastRateGrace: TimeAmount
    /// Peers whose connections begin with a PROXY header, which says who the client is.
    package var proxies: [IPNetwork]
    /// The hosts that requests may name; nil: any.
    package var serverNames: HostNames?
    /// The port that requests without TLS are redirected to, for https; nil: they are served.
    package var httpsPort: Int?
    /// The proxies whose questions the requests are; nil: they are served.
    package var authorization: ExternalAuthorization?
    /// The challenges that are answered before anything else; nil: none is.
    package var challenges: PendingChallenges?
    /// Nil: the listener speaks without TLS.
    package var tls: ListenerTLS?
    /// Nil: only HTTP/1.1 is spoken. Else HTTP/2 as well: negotiated over TLS, else with clients that begin with its
    /// preface.
    package var http2: HTTP2Limits?

    package init(
        host: String, port: Int, head: HeadLimits = HeadLimits(),
        handshakeTimeout: TimeAmount = .seconds(10), headTimeout: TimeAmount = .seconds(10),
        bodyIdleTimeout: TimeAmount = .seconds(30), keepAliveTimeout: TimeAmount = .seconds(75),
        connections: Int = 10_000, connectionsPerAddress: Int = .max, trustedProxies: [IPNetwork] = [],
        leastRate: Int = 0, leastRateGrace: TimeAmount = .seconds(30), proxies: [IPNetwork] = [],
        serverNames: HostNames? = nil, httpsPort: Int? = nil, authorization: ExternalAuthorization? = nil,
        challenges: PendingChallenges? = nil, tls: ListenerTLS? = nil, http2: HTTP2Limits? = nil
    ) {
        self.host = host
        self.port = port
        self.head = head
        self.handshakeTimeout = handshakeTimeout
        self.headTimeout = headTimeout
        self.bodyIdleTimeout = bodyIdleTimeout
        self.keepAliveTimeout = keepAliveTimeout
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.trustedProxies = trustedProxies
        self.leastRate = leastRate
        self.leastRateGrace = leastRateGrace
        self.proxies = proxies
        self.serverNames = serverNames
        self.httpsPort = httpsPort
        self.authorization = authorization
        self.challenges = challenges
        self.tls = tls
        self.http2 = http2
    }
}

extension ListenerSettings {
    /// Whether connections from this address begin with a PROXY header.
    func isProxy(_ address: IPAddress) -> Bool {
        !proxies.isEmpty && proxies.contains { $0.contains(address) }
    }

    /// Where an address is counted; nil for a trusted proxy, which stands for many.
    func slots(of address: IPAddress) -> AddressSlots? {
        guard trustedProxies.isEmpty || !trustedProxies.contains(where: { $0.contains(address) }) else { return nil }
        return AddressSlots(of: address)
    }
}

/// Why a listener itself refuses a request.
package enum ListenerFault: Error, Equatable, Sendable {
    /// The bytes are not the HTTP/1.1 that is accepted here.
    case http(HTTP1Fault)
    /// The head or the body did not come in time.
    case requestTimeout
    /// The head or the body came slower than at the least rate.
    case requestTooSlow

    /// The reason code for logs and metrics.
    package var reason: Reason {
        switch self {
        case .http(let fault): .http1(fault)
        case .requestTimeout: .request(.requestTimeout)
        case .requestTooSlow: .request(.requestTooSlow)
        }
    }
}
