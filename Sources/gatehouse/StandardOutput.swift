import Glibc
import Locking

/// The output of results. Unlike Swift's `print`, it detects failed writes, for example to a full disk.
enum StandardOutput {
    fileprivate struct State {
        var pending: [UInt8] = []
        /// The `errno` of the first write that failed. Nothing is written after it.
        var failure: Int32?
    }

    private static let state = Locked(State())
    /// The size of the buffer, which saves a system call per line.
    private static let room = 16 << 10

    /// Writes the text and a newline: at once on a terminal, otherwise when the buffer is full or at ``flush()``.
    static func line(_ text: String) {
        state.withLock { state in
            state.pending += text.utf8
            state.pending.append(UInt8(ascii: "\n"))
            if state.pending.count >= room || Terminal.standardOutput.isTerminal { state.flush() }
        }
    }

    /// Writes the buffered output, so that the reader of a pipe sees it.
    static func flush() {
        state.withLock { $0.flush() }
    }

    /// Writes the remaining output.
    ///
    /// - Returns: the reason why output could not be written; nil on success, or if the reader closed the pipe, as
    ///   `head` does.
    static func finish() -> String? {
        flush()
        guard let failure = state.withLock({ $0.failure }), failure != EPIPE else { return nil }
        return unsafe String(cString: strerror(failure))
    }
}

extension StandardOutput.State {
    fileprivate mutating func flush() {
        var rest = pending[...]
        while failure == nil, !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process may have made the pipe non-blocking.
                var writable = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&writable, 1, -1)
            } else if errno != EINTR {
                failure = errno
            }
        }
        pending.removeAll(keepingCapacity: true)
    }
}
