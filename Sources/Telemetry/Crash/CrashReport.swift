internal import Encoding
internal import Glibc

/// Writes a last line to standard error when a signal ends the process: the signal, and the work in progress.
///
///     {"time":"2026-01-31T23:59:59.123Z","type":"application","level":"critical","message":"crashed",
///      "signal":"SIGILL","under_way":["outbox delivery audit_webhook"]}
///
/// The handler allocates nothing and takes no lock (signal-safety(7)). Afterwards the signal has its original effect,
/// so exit status, core dumps and debuggers work as usual.
enum CrashReport {
    private static let signals: [(number: CInt, name: StaticString)] = [
        (SIGILL, "SIGILL"), (SIGTRAP, "SIGTRAP"), (SIGSEGV, "SIGSEGV"), (SIGBUS, "SIGBUS"), (SIGABRT, "SIGABRT"),
        (SIGFPE, "SIGFPE"),
    ]
    private static let lineLimit = 64 << 10

    /// The handler's memory, allocated in advance.
    @unsafe
    private struct Prepared {
        var line: UnsafeMutableRawBufferPointer
        var isText: Bool
        var texts: CrashTexts
        /// The earlier actions, indexed by signal number.
        var earlier: UnsafeMutablePointer<sigaction>
    }

    /// Written once, before any handler is in place, and only read afterwards.
    nonisolated(unsafe) private static var prepared: Prepared?

    /// Reports crashes from now on. Call it once.
    ///
    /// - Parameter format: the format of the application log.
    static func install(_ format: LogFormat) {
        unsafe WorkInProgress.forEach { _ in }
        let earlier = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
        unsafe earlier.initialize(repeating: sigaction(), count: 65)
        unsafe prepared = Prepared(
            line: UnsafeMutableRawBufferPointer.allocate(byteCount: lineLimit, alignment: 16), isText: format == .text,
            texts: CrashTexts(format.schema), earlier: earlier)
        for signal in signals {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = { CrashReport.handle($0) }
            // A stack overflow is reported if the thread has an alternate signal stack.
            action.sa_flags = SA_ONSTACK
            unsafe sigaction(signal.number, &action, earlier + Int(signal.number))
        }
    }

    /// The signal is blocked while the handler runs. The raised signal is delivered when the handler returns, and has
    /// its earlier effect.
    private static func handle(_ number: CInt) {
        guard let prepared = unsafe prepared else { return }
        unsafe sigaction(number, prepared.earlier + Int(number), nil)
        var line = unsafe CrashLine(prepared.line)
        unsafe compose(number, prepared.isText, prepared.texts, in: &line)
        unsafe line.write(to: STDERR_FILENO)
        raise(number)
    }

    @unsafe
    private static func compose(_ number: CInt, _ isText: Bool, _ texts: CrashTexts, in line: inout CrashLine) {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        unsafe line.append(texts.begin)
        unsafe line.append(now)
        unsafe line.append(texts.signal)
        for signal in signals where signal.number == number { unsafe line.append(signal.name) }
        unsafe line.append(texts.underWay)
        var isFirst = true
        unsafe WorkInProgress.forEach { description in
            if !isFirst { unsafe line.append(isText ? "; " : ",") }
            isFirst = false
            if !isText { unsafe line.append("\"") }
            unsafe line.append(description)
            if !isText { unsafe line.append("\"") }
        }
        unsafe line.append(isText ? "\"\n" : "]}\n")
    }
}

/// The constant parts of the line, chosen in advance.
private struct CrashTexts {
    let begin: StaticString
    let signal: StaticString
    let underWay: StaticString

    /// - Parameter schema: nil for text.
    init(_ schema: LogSchema?) {
        switch schema {
        case nil: (begin, signal, underWay) = ("", " critical crashed signal=", " under_way=\"")
        case .own:
            begin = #"{"time":""#
            signal = #"","type":"application","level":"critical","message":"crashed","signal":""#
            underWay = #"","under_way":["#
        case .ecs:
            begin = #"{"@timestamp":""#
            signal = #"""
                ","event.dataset":"gatehouse.application","ecs.version":"8.17.0","log.level":"critical",\#
                "message":"crashed","gatehouse.signal":"
                """#
            underWay = #"","gatehouse.under_way":["#
        case .otel:
            begin = #"{"timestamp":""#
            signal = #"""
                ","event.name":"gatehouse.application","severity_text":"critical","body":"crashed",\#
                "gatehouse.signal":"
                """#
            underWay = #"","gatehouse.under_way":["#
        }
    }
}

/// A line in preallocated memory. Text beyond its capacity is dropped.
@unsafe
private struct CrashLine {
    private let room: UnsafeMutableRawBufferPointer
    private var count = 0

    init(_ room: UnsafeMutableRawBufferPointer) {
        unsafe self.room = unsafe room
    }

    mutating func append(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        for index in 0..<bytes.count { unsafe append(bytes[index]) }
    }

    /// Appends the time in the format of ``TimestampEncoder``, without allocating.
    mutating func append(_ time: timespec) {
        let date = CivilTime(secondsSince1970: Int64(time.tv_sec))
        unsafe append(date.year, width: 4, then: "-")
        unsafe append(date.month, width: 2, then: "-")
        unsafe append(date.day, width: 2, then: "T")
        unsafe append(date.hour, width: 2, then: ":")
        unsafe append(date.minute, width: 2, then: ":")
        unsafe append(date.second, width: 2, then: ".")
        unsafe append(Int64(time.tv_nsec) / 1_000_000, width: 3, then: "Z")
    }

    private mutating func append(_ number: Int64, width: Int, then separator: Unicode.Scalar) {
        var divisor: Int64 = width == 4 ? 1000 : width == 3 ? 100 : 10
        while divisor > 0 {
            unsafe append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
        unsafe append(UInt8(ascii: separator))
    }

    private mutating func append(_ byte: UInt8) {
        guard unsafe count < room.count else { return }
        unsafe room[count] = byte
        unsafe count += 1
    }

    /// Writes the line, or the part of it that can be written within about a second. A pipe or socket that nobody reads
    /// must not delay the end of a crashed process, and therefore its restart.
    ///
    /// The descriptor's flags are not changed, because other processes share it. A pipe that is ready for writing
    /// (poll(2)) accepts `PIPE_BUF` bytes at once (pipe(7)); a socket is written to with `MSG_DONTWAIT`.
    func write(to descriptor: CInt) {
        var (written, polls) = (0, 10)
        while unsafe written < count {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&ready, 1, 100) == 1 else {
                polls -= 1
                if polls > 0 { continue }
                return
            }
            let piece = unsafe UnsafeRawBufferPointer(rebasing: room[written..<min(count, written + Self.pieceSize)])
            var result = unsafe send(descriptor, piece.baseAddress, piece.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            if result < 0, errno == ENOTSOCK {
                result = unsafe Glibc.write(descriptor, piece.baseAddress, piece.count)
            }
            if result < 0, errno == EAGAIN || errno == EINTR, polls > 0 {
                polls -= 1
                continue
            }
            guard result > 0 else { return }
            written += result
        }
    }

    private static var pieceSize: Int { Int(PIPE_BUF) }
}
