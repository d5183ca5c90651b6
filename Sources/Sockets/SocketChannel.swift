internal import Glibc
internal import NIOCore
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
    var descriptor: Int32
    var madePipeline: ChannelPipeline?
    let closePromise: EventLoopPromise<Void>

    let activity = Atomic(false)
    let writability = Atomic(true)
    var isRegistered = false

    // Reading.
    private var receiveSize = ReceiveBuffers.Size.small
    var autoRead = true
    package var allowsHalfClosure = false
    /// Somebody wants bytes.
    var readIsPending = false
    /// There may be bytes.
    var mayRead = false
    /// The client sends nothing more; what it has sent is read in any case.
    private var inputEnds = false
    var inputIsClosed = false
    /// A read ends at urgent bytes, though more may be behind them: few bytes do not mean that there are no more.
    private var hasUrgentBytes = false
    /// It is in the loop's list of those that go on.
    private var goesOn = false

    // Writing.
    var writes = PendingWrites()
    var mayWrite = true
    var isWatchedForRoom = false
    var isFlushing = false
    var isGathering = false
    var outputIsClosed = false
    /// The output is to be closed when all has left that was flushed.
    var outputEnd: OutputEnd?

    struct OutputEnd {
        let promise: EventLoopPromise<Void>?
    }

    /// As many reads in a turn: others are waiting.
    private static let mostReads = 4
    static let input: ReadyEvents = [.readable, .urgent, .inputEnds, .edgeTriggered]

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

    func goOnLater() {
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
    func readToEnd() {
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
