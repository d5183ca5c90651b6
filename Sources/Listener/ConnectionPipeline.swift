internal import NIOCore
internal import Pipeline

/// Builds the channel pipeline of an accepted connection. Its handlers have names, because SwiftNIO would put one
/// together for each.
struct ConnectionPipeline {
    let settings: ListenerSettings
    let service: any RequestService
    let connections: ConnectionSet
    let admission: ConnectionAdmission

    /// The client's address as text, and its counters.
    private struct Peer {
        let text: String
        let slots: AddressCounters?

        /// - Parameter settings: their trusted proxies stand for many clients and are not counted.
        init(_ address: IPAddress?, _ settings: ListenerSettings) {
            text = address?.description ?? "unknown"
            slots = address.flatMap(settings.slots)
        }
    }

    /// - Parameter address: the channel's peer.
    func install(on channel: any Channel, from address: IPAddress?) throws {
        guard let address, settings.isProxy(address) else {
            return try addProtocols(to: channel.pipeline.syncOperations, Peer(address, settings))
        }
        let handler = ProxyHeaderHandler(timeout: settings.handshakeTimeout, connections: connections) { refusal in
            service.refuseConnection(refusal, peer: address.description)
        } install: { header, context in
            // The proxy's own requests, such as health checks, have no client address.
            guard case .client(let client) = header else {
                return try addProtocols(to: context.pipeline.syncOperations, Peer(address, settings))
            }
            guard admission.admit(client, context.channel, settings) else {
                service.refuseConnection(.addressLimit, peer: client.description)
                throw ChannelError.eof
            }
            try addProtocols(to: context.pipeline.syncOperations, Peer(client, settings))
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func addProtocols(to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer) throws {
        guard settings.tls != nil, let challenges = settings.challenges, challenges.awaitsHandshakes else {
            return try addOrdinary(to: pipeline, peer)
        }
        let handshake = ChallengeHandshake(
            challenges, timeout: settings.handshakeTimeout, connections: connections
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
        let tls = try settings.tls.map { TLSHandler(try $0.makeSession(), buffers: connections.plaintext) }
        if let tls { try pipeline.addHandler(tls, name: "tls") }
        guard tls != nil || settings.http2 != nil else { return try addHTTP1(to: pipeline, peer, nil) }
        let selector = ProtocolSelector(
            after: tls, until: deadline, settings: settings, connections: connections
        ) { refusal in
            service.refuseConnection(refusal, peer: peer.text)
        } install: { wireProtocol, context in
            switch wireProtocol {
            case .http1: try addHTTP1(to: context.pipeline.syncOperations, peer, tls)
            case .http2: try addHTTP2(to: context.pipeline.syncOperations, peer, tls)
            }
        }
        try pipeline.addHandler(selector, name: "selector")
    }

    /// The scheme of the listener, independent of the client's claim.
    private var scheme: String { settings.tls == nil ? "http" : "https" }

    /// Returns the TLS properties of the connection after the handshake.
    private func transport(_ tls: TLSHandler?) -> ClientProtocol {
        guard let tls, let parameters = settings.tls else { return ClientProtocol() }
        return ClientProtocol(tls: tls.isTLS13 ? .tls13 : .tls12, hasCertificate: parameters.wantsCertificates)
    }

    private func addHTTP1(
        to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer, _ tls: TLSHandler?
    ) throws {
        let codec = HTTP1ServerCodec(settings, scheme: scheme, connections: connections)
        try pipeline.addHandler(codec, name: "http1")
        try pipeline.addHandler(
            ExchangeHandler(
                service, codec: codec, flushes: connections.flushes, peer: peer.text,
                peerCounters: peer.slots, serverNames: settings.serverNames, httpsPort: settings.httpsPort,
                authorization: settings.authorization, challenges: settings.challenges,
                transport: transport(tls)), name: "exchange")
    }

    private func addHTTP2(
        to pipeline: ChannelPipeline.SynchronousOperations, _ peer: Peer, _ tls: TLSHandler?
    ) throws {
        // ALPN offers HTTP/2 only if it is enabled.
        let limits = settings.http2 ?? HTTP2Limits()
        let transport = transport(tls)
        // Captured one by one: each stream would copy the settings.
        let (service, flushes, serverNames, httpsPort) = (
            service, connections.flushes, settings.serverNames, settings.httpsPort
        )
        let (authorization, challenges) = (settings.authorization, settings.challenges)
        let connection = try HTTP2Connection(
            settings, limits, service: service, connections: connections, peer: peer.text, scheme: scheme
        ) { stream in
            ExchangeHandler(
                service, codec: stream, flushes: flushes, peer: peer.text, peerCounters: peer.slots,
                serverNames: serverNames, httpsPort: httpsPort, authorization: authorization, challenges: challenges,
                transport: transport)
        }
        try pipeline.addHandler(connection, name: "http2")
    }
}
