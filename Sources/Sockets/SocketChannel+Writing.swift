internal import Glibc
internal import NIOCore
internal import Synchronization

/// Sends a connection's bytes to its client.
extension SocketChannel {
    /// The most consecutive system calls.
    private static let mostSends = 16
    /// Writability watermarks in bytes, as in SwiftNIO: the channel is not writable above `high`, and writable again
    /// below `low`.
    static let marks = (low: 32 << 10, high: 64 << 10)

    /// Bytes that were written and not yet sent.
    package var unsentBytes: Int { writes.bytes }

    /// Runs `body`, and then sends everything that it has flushed with as few system calls as possible. Each call may
    /// wake the client.
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
                // The kernel accepts everything, so other connections get their turn.
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

    /// Reads what the client sent before the connection broke, and closes the channel.
    private func writingFailed(_ error: IOError) {
        if autoRead || readIsPending { readToEnd() }
        close0(error: error, mode: .all, promise: nil)
    }

    /// Closes the output after the callbacks of `promise`. If one of them closes the whole connection, the client
    /// learns the same with one system call less.
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
