import Glibc
import Locking

/// Where results go. Swift's `print` says nothing of what could not be written, such as to a disk that is full.
enum StandardOutput {
    fileprivate struct State {
        var pending: [UInt8] = []
        /// The `errno` of the first write that failed. Nothing is written after it.
        var failure: Int32?
    }

    private static let state = Locked(State())
    /// So that many lines do not take a system call each.
    private static let room = 16 << 10

    /// Writes the text and a newline: at once on a terminal, else when there is enough of it, or at ``flush()``.
    static func line(_ text: String) {
        state.withLock { state in
            state.pending += text.utf8
            state.pending.append(UInt8(ascii: "\n"))
            if state.pending.count >= room || Terminal.standardOutput.isTerminal { state.flush() }
        }
    }

    /// Lets who reads through a pipe see what has been written so far.
    static func flush() {
        state.withLock { $0.flush() }
    }

    /// Writes what is left.
    ///
    /// - Returns: why not all could be written. Nil as well where who read it wants no more: that is how `head` ends.
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
                // Others may have made the pipe one that does not wait.
                var writable = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&writable, 1, -1)
            } else if errno != EINTR {
                failure = errno
            }
        }
        pending.removeAll(keepingCapacity: true)
    }
}
