internal import Glibc
internal import NIOCore

/// The bytes that were written to a connection and not yet sent.
struct PendingWrites {
    private var writes: [Write] = []
    /// The index of the first unsent write.
    private var first = 0
    /// The number of unsent writes that were flushed.
    private var flushed = 0
    private(set) var bytes = 0

    private struct Write {
        var buffer: ByteBuffer
        var promise: EventLoopPromise<Void>?
    }

    var isFlushed: Bool { flushed > 0 }

    /// Appends a write. Once many are waiting, small ones are copied together, because the limits of a connection count
    /// bytes, and each write takes about 150 bytes of its own.
    mutating func append(_ buffer: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        bytes += buffer.readableBytes
        let last = writes.count - 1
        guard writes.count - first >= Self.mostSeparate, buffer.readableBytes < Self.small,
            writes[last].promise == nil, writes[last].buffer.readableBytes < Self.mostCopied
        else {
            writes.append(Write(buffer: buffer, promise: promise))
            return
        }
        // If the last write has been flushed, the new bytes leave with it.
        writes[last].buffer.writeImmutableBuffer(buffer)
        writes[last].promise = promise
    }

    /// The number of stored writes, including those that have been sent.
    var storedCount: Int { writes.count }

    mutating func flush() { flushed = writes.count - first }

    /// The result of one send.
    enum Outcome {
        /// The number of bytes sent.
        case sent(Int)
        /// The kernel's buffer is full.
        case full
        case failed(Int32)
    }

    /// Sends flushed bytes with one system call.
    func send(to descriptor: Int32, by parts: IOVectors) -> Outcome {
        var count: Int
        repeat {
            if flushed == 1 {
                count = writes[first].buffer.withUnsafeReadableBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
            } else {
                // The list retains the buffers in place until the call has returned.
                let used = min(flushed, IOVectors.most)
                for index in 0..<used { parts.set(index, to: writes[first + index].buffer) }
                count = parts.send(used, to: descriptor)
            }
        } while count < 0 && errno == EINTR
        guard count < 0 else { return .sent(count) }
        return errno == EAGAIN ? .full : .failed(errno)
    }

    /// Removes sent bytes.
    ///
    /// - Parameter count: the number of bytes sent.
    /// - Returns: the promises of the writes that have been sent completely.
    mutating func remove(_ count: Int) -> [EventLoopPromise<Void>] {
        bytes -= count
        var left = count
        var promises: [EventLoopPromise<Void>] = []
        while flushed > 0 {
            let size = writes[first].buffer.readableBytes
            guard left >= size else {
                writes[first].buffer.moveReaderIndex(forwardBy: left)
                break
            }
            left -= size
            if let promise = writes[first].promise { promises.append(promise) }
            writes[first].buffer = ByteBuffer()
            first += 1
            flushed -= 1
        }
        if first == writes.count {
            writes.removeAll(keepingCapacity: writes.count <= Self.mostKept)
            first = 0
        } else if first >= Self.mostGone {
            writes.removeFirst(first)
            first = 0
        }
        return promises
    }

    /// Removes all writes and returns their promises.
    mutating func removeAll() -> [EventLoopPromise<Void>] {
        let promises = writes[first...].compactMap(\.promise)
        self = PendingWrites()
        return promises
    }

    /// The number of waiting writes from which small ones are copied together.
    private static let mostSeparate = 16
    /// The size in bytes below which a write is copied.
    private static let small = 1 << 10
    /// The size in bytes at which a copy ends.
    private static let mostCopied = 16 << 10
    /// The largest number of writes for which capacity is kept after all have been sent.
    private static let mostKept = 8
    /// The number of sent writes at which the list is compacted.
    private static let mostGone = 64
}
