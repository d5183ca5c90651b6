internal import Glibc
internal import Locking

/// A file or standard stream that several logs write whole lines to.
///
/// A file that was moved away or deleted is made anew, at ``reopen()`` and at the latest a second after it is written
/// to again: whoever rotates it need not tell.
final class LogOutput: Sendable {
    private struct State {
        var descriptor: CInt
        /// The last line is not whole: neither this process nor the one before has ended it.
        var endsWithinLine = false
        /// The file was deleted, and cannot be made anew: nobody could read what is written to it.
        var isDeleted = false
        /// Seconds of a monotonic clock when the path was looked at last.
        var lookedAt: Int
    }

    /// Nil for a standard stream.
    private let path: String?
    private let mode: mode_t
    /// As it was opened first. A write that stalls holds the lock, so that nobody can ask the descriptor.
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

    /// Opens a file to write behind what it holds.
    ///
    /// - Parameter isPrivate: whether a file that is made may be read by nobody but its owner; else its group may.
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

    /// A reader that has gone, and a file that has reached its limit, are errors of the write and no reason to end.
    private static let ignoreSignals: Void = {
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
    }()

    private static func open(_ path: String, _ mode: mode_t) throws(LogError) -> CInt {
        // Without O_NONBLOCK, the opening of a pipe waits for a reader. Writes wait for one that is slow.
        let opened = unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, mode)
        guard opened >= 0 else {
            let number = errno
            let reason = number == ENXIO ? "nobody reads from it" : unsafe String(cString: strerror(number))
            throw LogError(description: "\(path): cannot be opened: \(reason)")
        }
        _ = fcntl(opened, F_SETFL, fcntl(opened, F_GETFL) & ~O_NONBLOCK)
        return opened
    }

    /// Of a file that was just opened, while nobody else writes to it.
    private static func state(of opened: CInt, _ path: String) -> State {
        State(descriptor: opened, endsWithinLine: endsWithinLine(path, opened), lookedAt: seconds())
    }

    /// Whether a file ends within a line, as after a disk that was full. One that may not be read is taken to end with a
    /// whole one.
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

    /// Writes whole lines, one call after the other: lines of two logs do not mix. It may block.
    ///
    /// - Returns: how many of them were lost, as on a full disk, or with a file that was deleted and cannot be made anew.
    func write(_ lines: [UInt8]) -> Int {
        state.withLock { state in
            lookAtPath(&state)
            if state.isDeleted { return Self.count(lines) }
            // The part of a line that was written before the disk was full must not become the beginning of this one.
            if state.endsWithinLine, Self.append([UInt8(ascii: "\n")], to: state.descriptor) == 1 {
                state.endsWithinLine = false
            }
            let written = state.endsWithinLine ? 0 : Self.append(lines, to: state.descriptor)
            if written > 0 { state.endsWithinLine = lines[written - 1] != UInt8(ascii: "\n") }
            let lineStart = lines[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            return Self.count(lines[lineStart...])
        }
    }

    /// How many lines end there.
    private static func count(_ lines: some Sequence<UInt8>) -> Int { lines.count { $0 == UInt8(ascii: "\n") } }

    /// Opens the file anew. Where that fails, the one that is open stays in use.
    ///
    /// Nobody rotates a pipe or a device, and a write to it may hold the lock for as long as its reader likes.
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

    /// Makes the file anew where the path no longer leads to it, looking once a second.
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
        // A path that cannot be opened is tried again in a second; until then lines go where they went, to a file that was
        // moved away.
        guard let opened = try? Self.open(path, mode) else { return state.isDeleted = held.st_nlink == 0 }
        _ = Glibc.close(state.descriptor)
        state = Self.state(of: opened, path)
    }

    /// - Returns: how many bytes were written before an error.
    private static func append(_ bytes: [UInt8], to descriptor: CInt) -> Int {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // Someone else's setting of a stream that is shared; this thread may wait.
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
