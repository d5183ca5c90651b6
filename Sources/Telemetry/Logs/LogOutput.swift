internal import Glibc
internal import Locking

/// A file or standard stream to which several logs write complete lines.
///
/// A file that was moved or deleted is created again, at ``reopen()`` or within a second of the next write: log
/// rotation need not notify the gateway.
final class LogOutput: Sendable {
    private struct State {
        var descriptor: CInt
        /// Whether the file ends with an incomplete line, of this process or an earlier one.
        var endsWithinLine = false
        /// Whether the file was deleted and cannot be created again. Nobody could read lines written to it.
        var isDeleted = false
        /// The time of the last check of the path, in seconds of a monotonic clock.
        var lookedAt: Int
    }

    /// Nil for a standard stream.
    private let path: String?
    private let mode: mode_t
    /// Determined once when the output is opened: a stalled write holds the lock, so the descriptor could not be
    /// queried then.
    let isTerminal: Bool
    private let state: Locked<State>

    static let standardOutput = LogOutput(stream: STDOUT_FILENO)
    static let standardError = LogOutput(stream: STDERR_FILENO)

    private init(stream: CInt) {
        Self.ignoreSignals
        (path, mode) = (nil, 0)
        isTerminal = isatty(stream) == 1
        state = Locked(State(descriptor: stream, lookedAt: 0))
    }

    /// Opens a file for appending.
    ///
    /// - Parameter isPrivate: whether a new file is readable only by its owner; otherwise also by its group.
    init(path: String, isPrivate: Bool = false) throws(LogError) {
        Self.ignoreSignals
        self.path = path
        mode = isPrivate ? 0o600 : 0o640
        let opened = try Self.open(path, mode)
        isTerminal = isatty(opened) == 1
        state = Locked(Self.state(of: opened, path))
    }

    deinit {
        guard path != nil else { return }
        state.withLock { state in
            _ = Glibc.close(state.descriptor)
        }
    }

    /// A closed pipe and the file size limit become errors of the write, instead of ending the process.
    private static let ignoreSignals: Void = {
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
    }()

    private static func open(_ path: String, _ mode: mode_t) throws(LogError) -> CInt {
        // Without O_NONBLOCK, opening a pipe waits for a reader. Writes do wait for a slow reader, so the flag is
        // cleared afterwards.
        let opened = unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, mode)
        guard opened >= 0 else {
            let number = errno
            let reason = number == ENXIO ? "nobody reads from it" : unsafe String(cString: strerror(number))
            throw LogError(description: "\(path): cannot be opened: \(reason)")
        }
        _ = fcntl(opened, F_SETFL, fcntl(opened, F_GETFL) & ~O_NONBLOCK)
        return opened
    }

    /// The state of a file that was just opened. No other thread may write to it yet.
    private static func state(of opened: CInt, _ path: String) -> State {
        State(descriptor: opened, endsWithinLine: endsWithinLine(path, opened), lookedAt: seconds())
    }

    /// Whether a file ends with an incomplete line, for example after a full disk. A file that cannot be read counts as
    /// complete.
    private static func endsWithinLine(_ path: String, _ opened: CInt) -> Bool {
        var status = stat()
        guard unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return false
        }
        let reader = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard reader >= 0 else { return false }
        defer { _ = Glibc.close(reader) }
        var last: UInt8 = 0
        return unsafe pread(reader, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }

    /// Writes complete lines. Calls are serialized, so lines of two logs do not mix. It may block.
    ///
    /// - Returns: the number of lost lines, for example because the disk is full, or the file was deleted and cannot be
    ///   created again.
    func write(_ lines: [UInt8]) -> Int {
        state.withLock { state in
            lookAtPath(&state)
            if state.isDeleted { return Self.count(lines) }
            // An incomplete line, left by a full disk, must not become the beginning of the next one.
            if state.endsWithinLine, Self.append([UInt8(ascii: "\n")], to: state.descriptor) == 1 {
                state.endsWithinLine = false
            }
            let written = state.endsWithinLine ? 0 : Self.append(lines, to: state.descriptor)
            if written > 0 { state.endsWithinLine = lines[written - 1] != UInt8(ascii: "\n") }
            let lineStart = lines[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            return Self.count(lines[lineStart...])
        }
    }

    /// The number of line ends.
    private static func count(_ lines: some Sequence<UInt8>) -> Int { lines.count { $0 == UInt8(ascii: "\n") } }

    /// Reopens the file. If that fails, the old descriptor stays in use.
    ///
    /// Pipes and devices are not reopened: they are not rotated, and a blocked write to one may hold the lock
    /// indefinitely.
    func reopen() throws(LogError) {
        guard let path else { return }
        var named = stat()
        if unsafe stat(path, &named) == 0, [S_IFIFO, S_IFCHR].contains(named.st_mode & S_IFMT) { return }
        let opened = try Self.open(path, mode)
        state.withLock { state in
            _ = Glibc.close(state.descriptor)
            state = Self.state(of: opened, path)
        }
    }

    /// Creates the file again if the path no longer leads to it. The path is checked once a second.
    private func lookAtPath(_ state: inout State) {
        guard let path else { return }
        let now = Self.seconds()
        guard now != state.lookedAt else { return }
        state.lookedAt = now
        var (named, held) = (stat(), stat())
        if unsafe stat(path, &named) == 0, unsafe fstat(state.descriptor, &held) == 0,
            named.st_dev == held.st_dev, named.st_ino == held.st_ino
        {
            return
        }
        // A path that cannot be opened is tried again a second later. Until then lines go to the old file, if it was
        // moved.
        guard let opened = try? Self.open(path, mode) else { return state.isDeleted = held.st_nlink == 0 }
        _ = Glibc.close(state.descriptor)
        state = Self.state(of: opened, path)
    }

    /// - Returns: the number of bytes written before an error.
    private static func append(_ bytes: [UInt8], to descriptor: CInt) -> Int {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Another process has made the shared stream non-blocking. This thread may wait.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&room, 1, -1)
                continue
            }
            guard count > 0 else { break }
            written += count
        }
        return written
    }

    private static func seconds() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec
    }
}
