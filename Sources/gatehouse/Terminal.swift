import FoundationEssentials
import Glibc

/// A standard stream, which may be a terminal that shows colours.
struct Terminal {
    enum Style: String {
        case bold = "1"
        case good = "32"
        case bad = "31"
    }

    /// Whether somebody sits there.
    let isTerminal: Bool
    /// Whether it can be written over what is there.
    let movesCursor: Bool
    let hasColours: Bool

    static let standardOutput = Terminal(STDOUT_FILENO)
    static let standardError = Terminal(STDERR_FILENO)

    /// No colours for who wants none (`NO_COLOR`, no-color.org), for terminals that have none, and for pipes and files.
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

/// Swift's `print` knows standard output only.
enum StandardError {
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        unsafe bytes.withUnsafeBytes { buffer in
            _ = unsafe Glibc.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
        }
    }
}
