internal import Glibc
package import NIOCore
internal import Synchronization

/// A client's connection: a `Channel` on a ``SocketEventLoop``, with the behaviour of SwiftNIO's own, so that its
/// handlers, such as TLS, work here as there.
///
/// Its registration is edge-triggered and made once, and changed when the kernel takes no more bytes for the first time:
/// a new connection has room to write, which would be reported in an event of its own. Whether there is more to read,
/// and room to write, is remembered here in between.
///
/// `@unchecked Sendable`: other threads see constants and atomic values only.
package final class SocketChannel: @unchecked Sendable {
    package let loop: SocketEventLoop
    package let peer: PeerAddress
    private var descriptor: Int32
    private var madePipeline: ChannelPipeline?
    private let closePromise: EventLoopPromise<Void>

    private let activity = Atomic(false)
    private let writability = Atomic(true)
    private var isRegistered = false

    // Reading.
    private var receiveSize = ReceiveBuffers.Size.small
    var autoRead = true
    package var allowsHalfClosure = false
    /// Somebody wants bytes.
    private var readIsPending = false
    /// There may be bytes.
    private var mayRead = false
    /// The client sends nothing more; what it has sent is read in any case.
    private var inputEnds = false
    private var inputIsClosed = false
    /// A read ends at urgent bytes, though more may be behind them: few bytes do not mean that there are no more.
    private var hasUrgentBytes = false
    /// It is in the loop's list of those that go on.
    private var goesOn = false

    // Writing.
    private var writes = PendingWrites()
    private var mayWrite = true
    private var isWatchedForRoom = false
    private var isFlushing = false
    private var isGathering = false
    private var outputIsClosed = false
    /// The output is to be closed when all has left that was flushed.
    private var outputEnd: OutputEnd?

    private struct OutputEnd {
        let promise: EventLoopPromise<Void>?
    }

    /// As many reads in a turn: others are waiting.
    private static let mostReads = 4
    /// As many sends one after the other.
    private static let mostSends = 16
    /// More than the one makes it not writable, less than the other writable again; SwiftNIO's own.
    private static let marks = (low: 32 << 10, high: 64 << 10)
    private static let input: ReadyEvents = [.readable, .urgent, .inputEnds, .edgeTriggered]

    /// Bytes that were written and have not left.
    package var unsentBytes: Int { writes.bytes }

    /// - Parameter descriptor: closed with the channel.
    /// - Precondition: on `loop`.
    init(_ descriptor: Int32, _ peer: PeerAddress, on loop: SocketEventLoop) {
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
        closePromise = loop.makePromise()
        madePipeline = ChannelPipeline(channel: self)
    }

    /// One that was never begun, whose loop has ended.
    deinit { if isOpen { Glibc.close(descriptor) } }

    var isOpen: Bool { descriptor >= 0 }

    var openDescriptor: Int32 {
        get throws(ChannelError) {
            guard isOpen else { throw .ioOnClosedChannel }
            return descriptor
        }
    }

    /// Begins to read and write, once its handlers are there. Does nothing if it has been closed meanwhile.
    func activate() {
        guard isOpen, !isActive else { return }
        do {
            try loop.watch(descriptor, for: Self.input, self)
        } catch {
            return close0(error: error, mode: .all, promise: nil)
        }
        isRegistered = true
        pipeline.syncOperations.fireChannelRegistered()
        guard isOpen else { return }
        activity.store(true, ordering: .relaxed)
        pipeline.syncOperations.fireChannelActive()
        guard isOpen else { return }
        flushNow()
        wantMore()
    }

    // MARK: Reading

    private func wantMore() {
        if isOpen, !inputIsClosed, !readIsPending, autoRead { pipeline.syncOperations.read() }
    }

    /// Goes on with what was left in the turn before.
    func goOn() {
        goesOn = false
        guard isOpen, mayRead, readIsPending else { return }
        readSome()
    }

    private func goOnLater() {
        guard !goesOn else { return }
        goesOn = true
        loop.goOnLater(self)
    }

    private func readSome() {
        var hasRead = false
        for _ in 0..<Self.mostReads {
            switch readOnce() {
            case .some: hasRead = true
            case .last:
                hasRead = true
                mayRead = false
            case .nothing: mayRead = false
            case .ended: return
            }
            guard mayRead, isOpen, !inputIsClosed else { break }
        }
        if hasRead, isActive { pipeline.syncOperations.fireChannelReadComplete() }
        wantMore()
        if isOpen, readIsPending, mayRead { goOnLater() }
    }

    /// The client's side has ended, or the connection is broken: what is left is read, and the end comes with it.
    private func readToEnd() {
        while isOpen, !inputIsClosed {
            switch readOnce() {
            case .some, .last:
                if isActive { pipeline.syncOperations.fireChannelReadComplete() }
                wantMore()
            case .nothing, .ended: return
            }
        }
    }

    private enum ReadResult {
        case some
        /// Fewer bytes than there was room for: there are no more at the moment.
        case last
        case nothing
        /// The connection's end or an error, which has been handled.
        case ended
    }

    private func readOnce() -> ReadResult {
        let (count, bytes) = loop.buffers.receive(receiveSize) { room in
            var count: Int
            repeat { count = recv(descriptor, room.baseAddress, room.count, 0) } while count < 0 && errno == EINTR
            return count < 0 ? -Int(errno) : count
        }
        if count > 0 {
            let isFull = count == receiveSize.bytes
            receiveSize = receiveSize.next(after: count)
            readIsPending = false
            pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            return isFull || inputEnds || hasUrgentBytes ? .some : .last
        }
        if count == 0 {
            inputHasEnded()
            return .ended
        }
        guard -count != Int(EAGAIN) else { return .nothing }
        let error = IOError(errnoCode: Int32(-count), reason: "recv")
        pipeline.syncOperations.fireErrorCaught(error)
        close0(error: error, mode: .all, promise: nil)
        return .ended
    }

    private func inputHasEnded() {
        guard isActive else { return }
        pipeline.syncOperations.fireChannelReadComplete()
        guard isOpen else { return }
        close0(error: ChannelError.eof, mode: allowsHalfClosure ? .input : .all, promise: nil)
        readIsPending = false
    }

    // MARK: Writing

    /// Sends behind `body`, in as few system calls as it takes, whatever `body` has flushed. Each of them may wake the
    /// client.
    package func gatherSends(_ body: () -> Void) {
        isGathering = true
        body()
        stopGathering()
    }

    private func stopGathering() {
        guard isGathering else { return }
        isGathering = false
        if isOpen { flushNow() }
    }

    private func flushNow() {
        guard !isFlushing, !isGathering else { return }
        isFlushing = true
        var sends = 0
        while isOpen, mayWrite, writes.isFlushed {
            guard sends < Self.mostSends else {
                // The kernel takes all there is: the others have their turn.
                loop.append { self.flushNow() }
                break
            }
            sends += 1
            switch writes.send(to: descriptor, by: loop.parts) {
            case .full: awaitRoom()
            case .failed(let code): writingFailed(IOError(errnoCode: code, reason: "send"))
            case .sent(let count):
                for promise in writes.remove(count) { promise.succeed() }
                if isOpen, writes.bytes < Self.marks.low, !isWritable {
                    writability.store(true, ordering: .relaxed)
                    pipeline.syncOperations.fireChannelWritabilityChanged()
                }
            }
        }
        isFlushing = false
        if isOpen, !writes.isFlushed, let end = outputEnd {
            outputEnd = nil
            shutDownOutput(end.promise)
        }
    }

    private func awaitRoom() {
        mayWrite = false
        guard !isWatchedForRoom else { return }
        isWatchedForRoom = true
        do {
            try loop.watch(descriptor, for: Self.input.union(.writable))
        } catch {
            close0(error: error, mode: .all, promise: nil)
        }
    }

    /// The client may have sent something before it broke the connection.
    private func writingFailed(_ error: IOError) {
        if autoRead || readIsPending { readToEnd() }
        close0(error: error, mode: .all, promise: nil)
    }

    /// Behind what `promise` brings about, which may be that the whole connection is closed. That tells the client the
    /// same, with one system call less.
    private func shutDownOutput(_ promise: EventLoopPromise<Void>?) {
        outputIsClosed = true
        promise?.succeed()
        loop.append { self.shutDown() }
    }

    private func shutDown() {
        guard isOpen else { return }
        guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else {
            let error = IOError(errnoCode: errno, reason: "shutdown")
            return close0(error: error, mode: .all, promise: nil)
        }
        pipeline.syncOperations.fireUserInboundEventTriggered(ChannelEvent.outputClosed)
    }
}

extension SocketChannel: ReadinessHandler {
    package func ready(_ events: ReadyEvents) {
        if events.contains(.writable), !mayWrite {
            mayWrite = true
            flushNow()
        }
        guard isOpen else { return }
        if events.contains(.urgent) { hasUrgentBytes = true }
        if events.isDisjoint(with: [.inputEnds, .hangUp, .error]) {
            guard !events.isDisjoint(with: [.readable, .urgent]) else { return }
            mayRead = true
            if readIsPending { readSome() }
            return
        }
        (mayRead, inputEnds) = (true, true)
        readToEnd()
        if isOpen, !events.isDisjoint(with: [.hangUp, .error]) {
            close0(error: IOError(errnoCode: pendingError, reason: "connection reset"), mode: .all, promise: nil)
        }
    }

    package func stop() {
        close0(error: EventLoopError.shutdown, mode: .all, promise: nil)
    }

    private var pendingError: Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
        return code == 0 ? ECONNRESET : code
    }
}

// MARK: - The channel of its handlers

extension SocketChannel: Channel {
    package var eventLoop: any EventLoop { loop }
    package var allocator: ByteBufferAllocator { ByteBufferAllocator() }
    package var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
    package var parent: (any Channel)? { nil }
    package var isActive: Bool { activity.load(ordering: .relaxed) }
    package var isWritable: Bool { writability.load(ordering: .relaxed) }
    package var remoteAddress: SocketAddress? { peer.socketAddress }
    /// Nobody has asked yet.
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

    // An accepted connection is all that, or becomes it in `activate()`.
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
        // Whoever closes it may be one of its handlers.
        loop.append {
            self.removeHandlers(pipeline: self.pipeline)
            self.closePromise.succeed()
        }
    }

    package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) { refuse(promise) }
    package func channelRead0(_ data: NIOAny) {}
    package func errorCaught0(error: any Error) {}
}
