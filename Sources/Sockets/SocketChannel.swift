internal import Glibc
internal import NIOCore
internal import Synchronization

/// A client's connection: a `Channel` on a ``SocketEventLoop`` that behaves like SwiftNIO's own, so that handlers run on
/// either.
///
/// Its registration is edge-triggered. It is made once, and changed only when the kernel's send buffer is full for the
/// first time: a new connection is writable, and watching for that would cause an extra event. The channel itself
/// remembers whether it can read and write.
///
/// `@unchecked Sendable`: other threads access only constants and atomic values.
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
    /// Whether a read was requested.
    var readIsPending = false
    /// Whether bytes may be available.
    var mayRead = false
    /// Whether the client sends nothing more. Bytes that it has sent are read in any case.
    private var inputEnds = false
    var inputIsClosed = false
    /// Whether urgent bytes have arrived. A read stops at them although more may follow, so a short read does not show
    /// that there is no more.
    private var hasUrgentBytes = false
    /// Whether the channel is in the loop's list of unfinished channels.
    private var goesOn = false

    // Writing.
    /// Its methods complete no promises, and call nothing else that could come back to the channel.
    @exclusivity(unchecked) var writes = PendingWrites()
    var mayWrite = true
    var isWatchedForRoom = false
    var isFlushing = false
    var isGathering = false
    var outputIsClosed = false
    /// Set if the output must be closed when all flushed bytes have been sent.
    var outputEnd: OutputEnd?

    struct OutputEnd {
        let promise: EventLoopPromise<Void>?
    }

    /// The most reads in one turn, so that other connections get theirs.
    private static let mostReads = 4
    static let input: ReadyEvents = [.readable, .urgent, .inputEnds, .edgeTriggered]

    /// - Parameter descriptor: a connected socket, which is closed with the channel.
    /// - Precondition: on `loop`.
    init(_ descriptor: Int32, _ peer: PeerAddress, on loop: SocketEventLoop) {
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
        closePromise = loop.makePromise()
        madePipeline = ChannelPipeline(channel: self)
    }

    /// Closes a channel that was never activated because its loop has ended.
    deinit { if isOpen { Glibc.close(descriptor) } }

    var isOpen: Bool { descriptor >= 0 }

    var openDescriptor: Int32 {
        get throws(ChannelError) {
            guard isOpen else { throw .ioOnClosedChannel }
            return descriptor
        }
    }

    /// Begins to read and write, after the handlers were added. Does nothing if the channel has been closed in the
    /// meantime.
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

    /// Continues reading after the previous turn.
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

    /// Reads the remaining bytes up to the end, after the client's side has ended or the connection has broken.
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
        /// The receive was not full, so no more bytes are available now.
        case last
        case nothing
        /// The connection has ended or failed, and this has been handled.
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
