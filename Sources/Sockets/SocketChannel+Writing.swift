internal import Glibc
internal import NIOCore
internal import Synchronization

/// The way of a connection's bytes to its client.
extension SocketChannel {
    /// As many sends one after the other.
    private static let mostSends = 16
    /// More than the one makes it not writable, less than the other writable again; SwiftNIO's own.
    static let marks = (low: 32 << 10, high: 64 << 10)

    /// Bytes that were written and have not left.
    package var unsentBytes: Int { writes.bytes }

    /// Sends behind `body`, in as few system calls as it takes, whatever `body` has flushed. Each of them may wake the
    /// client.
    package func gatherSends(_ body: () -> Void) {
        isGathering = true
        body()
        stopGathering()
    }

    func stopGathering() {
        guard isGathering else { return }
        isGathering = false
        if isOpen { flushNow() }
    }

    func flushNow() {
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
    func shutDownOutput(_ promise: EventLoopPromise<Void>?) {
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
