internal import Glibc
internal import NIOCore

/// The bytes that were written to a connection and have not left yet.
struct PendingWrites {
    private var writes: [Write] = []
    /// Those before it have left.
    private var first = 0
    /// How many of those that are left were flushed.
    private var flushed = 0
    private(set) var bytes = 0

    private struct Write {
        var buffer: ByteBuffer
        let promise: EventLoopPromise<Void>?
    }

    var isFlushed: Bool { flushed > 0 }

    mutating func append(_ buffer: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        writes.append(Write(buffer: buffer, promise: promise))
        bytes += buffer.readableBytes
    }

    mutating func flush() { flushed = writes.count - first }

    /// How one send has ended.
    enum Outcome {
        /// This much has left.
        case sent(Int)
        /// The kernel takes nothing at the moment.
        case full
        case failed(Int32)
    }

    /// Sends what was flushed, as much as one system call can.
    func send(to descriptor: Int32, by parts: IOVectors) -> Outcome {
        var count: Int
        repeat {
            if flushed == 1 {
                count = writes[first].buffer.withUnsafeReadableBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
            } else {
                // The buffers are in this list, and stay where they are, until the call has returned.
                let used = min(flushed, IOVectors.most)
                for index in 0..<used { parts.set(index, to: writes[first + index].buffer) }
                count = parts.send(used, to: descriptor)
            }
        } while count < 0 && errno == EINTR
        guard count < 0 else { return .sent(count) }
        return errno == EAGAIN ? .full : .failed(errno)
    }

    /// Takes out what has left.
    ///
    /// - Parameter count: how many bytes.
    /// - Returns: the promises of the writes that have left as a whole.
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

    /// Takes out everything.
    mutating func removeAll() -> [EventLoopPromise<Void>] {
        let promises = writes[first...].compactMap(\.promise)
        self = PendingWrites()
        return promises
    }

    /// For how many writes there is room after all have left.
    private static let mostKept = 8
    /// How many may have left before the list is moved up.
    private static let mostGone = 64
}
