internal import NIOCore
internal import NIOHTTP2
internal import Pipeline

/// Puts together what handles an accepted connection.
struct ConnectionPipeline {
    let settings: ListenerSettings
    let service: any RequestService
    let connections: ConnectionSet

    func install(on channel: any Channel) throws {
        let address = channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        guard let address, settings.proxies.contains(where: { $0.contains(address) }) else {
            return try addProtocols(to: channel.pipeline.syncOperations, peer: address?.description ?? "unknown")
        }
        let handler = ProxyHeaderHandler(timeout: settings.handshakeTimeout, connections: connections) { refusal in
            service.refuseConnection(refusal, peer: address.description)
        } install: { header, context in
            let peer = if case .client(let client) = header { client } else { address }
            try addProtocols(to: context.pipeline.syncOperations, peer: peer.description)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func addProtocols(to pipeline: ChannelPipeline.SynchronousOperations, peer: String) throws {
        var handshake: HandshakeStart?
        if let tls = settings.tls {
            let start = HandshakeStart()
            try pipeline.addHandlers(start, tls.makeHandler())
            handshake = start
        }
        guard settings.tls != nil || settings.http2 != nil else { return try addHTTP1(to: pipeline, peer) }
        let selector = ProtocolSelector(after: handshake, settings: settings, connections: connections) { refusal in
            service.refuseConnection(refusal, peer: peer)
        } install: { wireProtocol, context in
            switch wireProtocol {
            case .http1: try addHTTP1(to: context.pipeline.syncOperations, peer)
            case .http2: try addHTTP2(to: context, peer)
            }
        }
        try pipeline.addHandler(selector)
    }

    /// By the listener's kind, whatever the client says.
    private var scheme: String { settings.tls == nil ? "http" : "https" }

    private func addHTTP1(to pipeline: ChannelPipeline.SynchronousOperations, _ peer: String) throws {
        let codec = HTTP1ServerCodec(settings, scheme: scheme, connections: connections)
        try pipeline.addHandler(codec)
        try pipeline.addHandler(
            ExchangeHandler(
                service, codec: codec, flushes: connections.flushes, peer: peer, serverNames: settings.serverNames))
    }

    private func addHTTP2(to context: ChannelHandlerContext, _ peer: String) throws {
        let pipeline = context.pipeline.syncOperations
        // ALPN offers HTTP/2 only where it is on.
        let limits = settings.http2 ?? HTTP2Limits()
        let frames = HTTP2FrameWatch()
        let connection = HTTP2Connection(settings, frames: frames, service: service, connections: connections)
        let streams = NIOLoopBound((pipeline: self, connection: connection), eventLoop: context.eventLoop)
        let handler = NIOHTTP2Handler(
            mode: .server, eventLoop: context.eventLoop, connectionConfiguration: .listener(settings.head, limits),
            streamConfiguration: .listener(limits)
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                let (pipeline, connection) = streams.value
                try pipeline.addStream(stream, of: connection, peer)
            }
        }
        try pipeline.addHandler(frames)
        try pipeline.addHandler(handler)
        try pipeline.addHandler(connection)
    }

    private func addStream(_ stream: any Channel, of connection: HTTP2Connection, _ peer: String) throws {
        let pipeline = stream.pipeline.syncOperations
        let head = HTTP2RequestHeadReader(limits: settings.head, scheme: scheme)
        let codec = HTTP2StreamCodec(settings, head: head, connection: connection, connections: connections)
        try pipeline.addHandler(codec)
        try pipeline.addHandler(
            ExchangeHandler(
                service, codec: codec, flushes: connections.flushes, peer: peer, serverNames: settings.serverNames,
                isStream: true))
    }
}
