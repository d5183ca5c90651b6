internal import HTTPClient
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream

/// The client's side of a request.
extension Exchange: ExchangeSink {
    func receive(_ body: ByteBuffer) -> Bool {
        service.metrics.received(bytes: body.readableBytes)
        log.bytesReceived += body.readableBytes
        return pass(body)
    }

    /// Processes a part of the body, either on arrival or after it was buffered.
    func pass(_ body: ByteBuffer) -> Bool {
        switch state.receive(body.readableBytes) {
        case .pass:
            return upstream?.send(body: body) ?? true
        case .passThrough:
            return tunnel?.receive(body) ?? true
        case .hold:
            hold(body)
            return false
        case .collect:
            call?.append(body)
        case .callIsTooLong:
            refuseOrPerformCall(tooLongWith: body)
        case .refuse:
            cancel(.upstream)
            refuseLargeBody()
        case .breakOff:
            cancel(.upstream)
            breakOff(.request(.bodyTooLarge))
        case .ignore:
            break
        }
        return true
    }

    func receiveEnd() {
        switch state.receiveEnd() {
        case .ignore: break
        case .perform: performCall()
        case .finish: upstream?.finishBody()
        case .passThrough: tunnel?.receiveEnd()
        }
    }

    func clientIsWritable(_ isWritable: Bool) {
        switch state.backend {
        case .nobody: break
        case .upstream: if isWritable { upstream?.resume() } else { upstream?.pause() }
        case .tunnel: tunnel?.clientIsWritable(isWritable)
        }
    }

    func requestFailed(_ fault: ListenerFault) {
        guard let backend = state.requestFailed() else { return }
        cancel(backend)
        refuse(Refusal(fault))
    }

    func clientDisconnected() {
        guard let backend = state.clientDisconnected() else { return }
        if case .tunnel = backend, state.responseHasBegun { service.metrics.webSocketClosed() }
        called?.abandon()
        cancel(backend)
        abandon()
    }

    private func cancel(_ backend: ExchangeState.Backend) {
        switch backend {
        case .nobody: break
        case .upstream: upstream?.cancel()
        case .tunnel: tunnel?.clientDisconnected()
        }
        log.upstreamEnded()
    }

    func mustClose() {
        if case .tunnel = state.backend { tunnel?.mustClose() }
    }

    func responseWaits() -> (() -> Void)? {
        state.responseTakesPlace ? service.holdPlace(of: log.addressSlots) : nil
    }
}
