internal import HTTP1
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream
internal import Zlib

/// The backend's side of a request that is forwarded.
extension Exchange: UpstreamResponseReceiver {
    /// - Parameter collected: the complete body, if it has already been received; nil if it is streamed.
    func forward(_ permit: consuming Permit, collected: ByteBuffer? = nil) {
        log.routeIndex = permit.routeIndex
        log.subject = permit.subject
        guard let index = service.plan.upstreamOfRoute[permit.routeIndex] else {
            return refuse(Refusal(.internalFailure, reason: .request(.routeWithoutUpstream)))
        }
        log.upstreamIndex = index
        if permit.isWebSocket, let grant = permit.webSocket { return openWebSocket(permit, grant, upstream: index) }
        let bodyLimit = treatment?.bodyLimit ?? .max
        guard !request.body.exceeds(bodyLimit) else { return refuseLargeBody() }
        let framing = collected.map { .length($0.readableBytes) } ?? framing
        let pool = service.pools[index]
        let forwarded = ForwardedRequest(
            permit, framing: framing, upstream: service.plan.upstreams[index].settings, buffer: pool.takeBuffer())
        log.forwarding()
        let upstream = pool.send(
            forwarded, subject: log.subject, timeouts: service.plan.timeoutsOfRoute[permit.routeIndex],
            copiesLines: rule?.changesResponses == false && sendsLines, to: self)
        log.forwarded(as: upstream)
        state.forward(bodyLimit: bodyLimit)
        self.upstream = upstream
        guard let collected else { return }
        _ = upstream.send(body: collected)
        upstream.finishBody()
    }

    /// The framing that the client uses.
    private var framing: BodyFraming {
        switch request.body {
        case .none: .none
        case .length(let length): .length(length)
        case .unknownLength: .chunked
        }
    }

    /// The hash of the client's address. An IPv6 address counts as its /64, which is assigned to one customer as a
    /// whole (RFC 6177).
    var clientHash: UInt64 {
        guard let address = IPAddress(log.clientAddress) else { return 0 }
        return UInt64(bitPattern: Int64(address.ofCustomer.hashValue))
    }

    var requestID: String { log.requestID }

    func upstreamResponded(_ head: ResponseHead) {
        switch head.fields {
        case .lines(let lines): begin(head.status, lines)
        case .list(let fields): begin(HTTPResponse(status: head.status, headerFields: fields))
        }
    }

    func upstreamSent(_ body: ByteBuffer) {
        sendPart(compressor?.compress(body, .nothing) ?? body)
    }

    private func sendPart(_ body: ByteBuffer) {
        guard body.readableBytes > 0 else { return }
        log.bytesSent += body.readableBytes
        // The client's connection may still be congested by the previous response.
        if stream?.write(body) == false { clientIsWritable(false) }
    }

    func upstreamReadComplete() {
        if let compressed = compressor?.compress(ByteBuffer(), .piece) { sendPart(compressed) }
        stream?.flush()
    }

    func upstreamFinished(trailers: HTTPFields?) {
        guard state.upstreamFinished() else { return }
        if let compressed = compressor?.compress(ByteBuffer(), .end) { sendPart(compressed) }
        let now = NIODeadline.now()
        log.upstreamEnded(at: now)
        record(at: now)
        var passed = trailers.flatMap { rule?.trailersForClient($0) }
        if compressor != nil { passed = passed.flatMap(ResponseCompression.trailers) }
        bodyWriter.take()?.end(trailers: passed)
    }

    func upstreamFailed(_ fault: UpstreamError) {
        log.upstreamEnded()
        log.errorText = fault.text
        if let upstreamIndex = log.upstreamIndex { service.metrics.upstreamFailed(upstreamIndex) }
        switch state.upstreamFailed() {
        case .ignore: break
        case .refuse: refuse(Refusal(fault))
        case .breakOff: breakOff(.upstream(fault.reason))
        }
    }

    func upstreamWantsBody() {
        demand.resume()
    }
}
