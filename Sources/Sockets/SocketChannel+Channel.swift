internal import Glibc
package import NIOCore
internal import Synchronization

extension SocketChannel: Channel {
    package var eventLoop: any EventLoop { loop }
    package var allocator: ByteBufferAllocator { ByteBufferAllocator() }
    package var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
    package var parent: (any Channel)? { nil }
    package var isActive: Bool { activity.load(ordering: .relaxed) }
    package var isWritable: Bool { writability.load(ordering: .relaxed) }
    package var remoteAddress: SocketAddress? { peer.socketAddress }
    /// Always nil: no handler needs the local address.
    package var localAddress: SocketAddress? { nil }
    package var _channelCore: any ChannelCore { self }

    package var pipeline: ChannelPipeline {
        guard let madePipeline else { preconditionFailure("made with the channel") }
        return madePipeline
    }
}

extension SocketChannel: ChannelCore {
    package func localAddress0() throws -> SocketAddress { throw ChannelError.operationUnsupported }
    package func remoteAddress0() throws -> SocketAddress {
        guard let address = remoteAddress else { throw ChannelError.unknownLocalAddress }
        return address
    }

    // Accepted connections are already bound and connected; `activate()` registers them.
    package func register0(promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) { refuse(promise) }

    private func refuse(_ promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }

    package func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard isOpen else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        guard !outputIsClosed, outputEnd == nil else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        writes.append(unwrapData(data, as: ByteBuffer.self), promise)
        guard writes.bytes > Self.marks.high, isWritable else { return }
        writability.store(false, ordering: .relaxed)
        pipeline.syncOperations.fireChannelWritabilityChanged()
    }

    package func flush0() {
        guard isOpen else { return }
        writes.flush()
        if isActive { flushNow() }
    }

    package func read0() {
        guard isOpen, !inputIsClosed else { return }
        readIsPending = true
        if mayRead { goOnLater() }
    }

    package func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard isOpen else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        switch mode {
        case .output where !inputIsClosed: closeOutput(promise)
        case .input where !outputIsClosed: closeInput(error, promise)
        case .input, .output, .all:
            stopGathering()
            guard isOpen else {
                promise?.fail(ChannelError.alreadyClosed)
                return
            }
            closeAll(error, promise)
        }
    }

    private func closeOutput(_ promise: EventLoopPromise<Void>?) {
        guard !outputIsClosed, outputEnd == nil else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        if writes.isFlushed {
            outputEnd = OutputEnd(promise: promise)
        } else {
            shutDownOutput(promise)
        }
    }

    private func closeInput(_ error: any Error, _ promise: EventLoopPromise<Void>?) {
        guard !inputIsClosed else {
            promise?.fail(ChannelError.inputClosed)
            return
        }
        if case ChannelError.eof = error {} else { shutdown(descriptor, Int32(SHUT_RD)) }
        inputIsClosed = true
        promise?.succeed()
        pipeline.syncOperations.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    private func closeAll(_ error: any Error, _ promise: EventLoopPromise<Void>?) {
        if isRegistered { loop.forget(descriptor) }
        Glibc.close(descriptor)
        descriptor = -1
        let wasActive = activity.exchange(false, ordering: .relaxed)
        for promise in writes.removeAll() { promise.fail(error) }
        if let end = outputEnd {
            outputEnd = nil
            end.promise?.fail(error)
        }
        promise?.succeed()
        if wasActive { pipeline.syncOperations.fireChannelInactive() }
        if isRegistered { pipeline.syncOperations.fireChannelUnregistered() }
        // The caller may be one of the channel's handlers.
        loop.append {
            self.removeHandlers(pipeline: self.pipeline)
            self.closePromise.succeed()
        }
    }

    package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func channelRead0(_ data: NIOAny) {}
    package func errorCaught0(error: any Error) {}
}
