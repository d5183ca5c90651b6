import Glibc

/// Standard input, which is where tokens come from: a command line can be read by everybody on the machine.
enum StandardInput {
    /// All of it, as bytes.
    static func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            }
            if count > 0 {
                bytes += part[..<count]
            } else if count == 0 || errno != EINTR {
                return bytes
            }
        }
    }

    /// One token: everything but the newline with which editors and shells end what they write.
    static func readToken() -> [UInt8] { withoutNewline(readAll()[...]) }

    /// Every line that is not empty.
    static func readLines() -> [[UInt8]] {
        readAll().split(separator: UInt8(ascii: "\n")).map(withoutNewline).filter { !$0.isEmpty }
    }

    private static func withoutNewline(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var text = text
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        return Array(text)
    }
}
