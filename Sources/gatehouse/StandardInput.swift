import Glibc

/// Standard input, the source of tokens: command lines are visible to all users of the machine.
enum StandardInput {
    /// Reads everything.
    ///
    /// - Throws: ``CommandFailure`` if reading fails, so that no partial input is used.
    static func readAll() throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            }
            if count > 0 {
                bytes += part[..<count]
            } else if count == 0 {
                return bytes
            } else if errno == EAGAIN {
                // Another process may have made the pipe non-blocking.
                var readable = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&readable, 1, -1)
            } else if errno != EINTR {
                let reason = unsafe String(cString: strerror(errno))
                throw CommandFailure("standard input cannot be read: \(reason)")
            }
        }
    }

    /// Reads one token, without the trailing newline of editors and shells.
    static func readToken() throws(CommandFailure) -> [UInt8] { withoutNewline(try readAll()[...]) }

    /// Reads all non-empty lines.
    static func readLines() throws(CommandFailure) -> [[UInt8]] {
        try readAll().split(separator: UInt8(ascii: "\n")).map(withoutNewline).filter { !$0.isEmpty }
    }

    /// Removes `Authorization:` and `Bearer` (in any case; RFC 9110, 11.1), as they precede a token in a request.
    static func bareToken(_ text: [UInt8]) -> [UInt8] {
        var rest = text[...]
        for prefix in ["authorization:", "bearer "] {
            let start = rest.drop { $0 == UInt8(ascii: " ") }
            let isThere = start.prefix(prefix.utf8.count).elementsEqual(prefix.utf8) { lowercased($0) == $1 }
            guard isThere else { continue }
            rest = start.dropFirst(prefix.utf8.count).drop { $0 == UInt8(ascii: " ") }
        }
        return Array(rest)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func withoutNewline(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var text = text
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        return Array(text)
    }
}
