import FoundationEssentials
import Glibc

/// A standard stream, which may be a terminal that supports colours.
struct Terminal {
    enum Style: String {
        case bold = "1"
        case good = "32"
        case bad = "31"
    }

    /// Whether the stream is a terminal.
    let isTerminal: Bool
    /// Whether the terminal can overwrite its last line.
    let movesCursor: Bool
    let hasColours: Bool

    static let standardOutput = Terminal(STDOUT_FILENO)
    static let standardError = Terminal(STDERR_FILENO)

    /// Disables colours if the user does not want them (`NO_COLOR`, no-color.org), on terminals without colours, and
    /// for pipes and files.
    private init(_ descriptor: Int32) {
        let environment = ProcessInfo.processInfo.environment
        isTerminal = isatty(descriptor) == 1
        movesCursor = isTerminal && environment["TERM"] != "dumb"
        hasColours = movesCursor && environment["NO_COLOR"]?.isEmpty != false
    }

    func styled(_ style: Style, _ text: String) -> String {
        hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// Standard error, which Swift's `print` does not support.
enum StandardError {
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        unsafe bytes.withUnsafeBytes { buffer in
            _ = unsafe Glibc.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
        }
    }
}
