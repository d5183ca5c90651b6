internal import NIOCore
internal import Pipeline

/// Builds the channel pipeline of an accepted connection. Its handlers have names, because SwiftNIO would put one
/// together for each.
struct ConnectionPipeline {
    let shared: SharedListenerSettings
    let service: any RequestService
    let connections: ConnectionSet
    let admission: ConnectionAdmission

    /// The client's address as text, and its counters.
    private struct Peer {
        let text: String
        let slots: AddressCounters?

        /// - Parameter shared: its trusted proxies stand for many clients and are not counted.
        init(_ address: IPAddress?, _ shared: SharedListenerSettings) {
            text = address?.description ?? "unknown"
            slots = address.flatMap { shared.values.slots(of: $0) }
        }
    }

    /// - Parameter address: the channel's peer.
    func install(on channel: any Channel, from address: IPAddress?) throws {
        guard let address, shared.values.isProxy(address) else {
            return try addProtocols(to: channel.pipeline.syncOperations, Peer(address, shared))
        }
        let handler = ProxyHeaderHandler(timeout: shared.values.handshakeTimeout, connections: connections) { refusal in
            service.refuseConnection(refusal, peer: address.description)
        } install: { header, context in
            // The proxy's own requests, such as health checks, have no client address.
            guard case .client(let client) = header else {
                return try addProtocols(to: context.pipeline.syncOperations, Peer(address, shared))
            }
            guard admission.admit(client, context.channel, shared.values) else {
                service.refuseConnection(.addressLimit, peer: client.description)
                throw ChannelError.eof
            }
            try addProtocols(to: context.pipeline.syncOperations, Peer(client, shared))
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func addProtocols(to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer) throws {
        guard shared.values.tls != nil, let challenges = shared.values.challenges, challenges.awaitsHandshakes else {
            return try addOrdinary(to: pipeline, peer)
        }
        let handshake = ChallengeHandshake(
            challenges, timeout: shared.values.handshakeTimeout, connections: connections
        ) {
            service.refuseConnection(.handshakeFailed, peer: peer.text)
        } install: { context, deadline in
            try addOrdinary(to: context.pipeline.syncOperations, peer, handshakeUntil: deadline)
        }
        try pipeline.addHandler(handshake)
    }

    /// - Parameter deadline: the deadline of a handshake that has begun; nil: the time begins now.
    private func addOrdinary(
        to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer, handshakeUntil deadline: NIODeadline? = nil
    ) throws {
        guard let session = try shared.values.tls?.makeSession() else { return try addHTTP1(to: pipeline, peer, nil) }
        let tls = TLSHandler(session, buffers: connections.plaintext)
        try pipeline.addHandler(tls, name: "tls")
        let selector = ProtocolSelector(
            after: tls, until: deadline ?? connections.now + shared.values.handshakeTimeout, connections: connections
        ) {
            service.refuseConnection(.handshakeFailed, peer: peer.text)
        } install: { wireProtocol, context in
            switch wireProtocol {
            case .http1: try addHTTP1(to: context.pipeline.syncOperations, peer, tls)
            case .http2: try addHTTP2(to: context.pipeline.syncOperations, peer, tls)
            }
        }
        try pipeline.addHandler(selector, name: "selector")
    }

    /// The scheme of the listener, independent of the client's claim.
    private var scheme: String { shared.values.tls == nil ? "http" : "https" }

    /// Returns the TLS properties of the connection after the handshake.
    private func transport(_ tls: TLSHandler?) -> ClientProtocol {
        guard let tls, let parameters = shared.values.tls else { return ClientProtocol() }
        return ClientProtocol(tls: tls.isTLS13 ? .tls13 : .tls12, hasCertificate: parameters.wantsCertificates)
    }

    private func addHTTP1(
        to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer, _ tls: TLSHandler?
    ) throws {
        let codec = HTTP1ServerCodec(shared, scheme: scheme, connections: connections)
        if tls == nil, shared.values.http2 != nil {
            codec.installHTTP2 = { context in try addHTTP2(to: context.pipeline.syncOperations, peer, nil) }
        }
        try pipeline.addHandler(codec, name: "http1")
        try pipeline.addHandler(
            ExchangeHandler(
                service, shared, codec: codec, flushes: connections.flushes, peer: peer.text,
                peerCounters: peer.slots, transport: transport(tls)), name: "exchange")
    }

    private func addHTTP2(
        to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer, _ tls: TLSHandler?
    ) throws {
        // ALPN offers HTTP/2 only if it is enabled.
        let limits = shared.values.http2 ?? HTTP2Limits()
        let transport = transport(tls)
        let connection = try HTTP2Connection(
            shared, limits, service: service, connections: connections, peer: peer.text, scheme: scheme
        ) { stream in
            ExchangeHandler(
                service, shared, codec: stream, flushes: connections.flushes, peer: peer.text,
                peerCounters: peer.slots, transport: transport)
        }
        try pipeline.addHandler(connection, name: "http2")
    }
}
