/// Where lines of a log go.
enum LogDestination: Hashable, Sendable {
    case standardOutput
    case standardError
    /// A file that lines are appended to.
    case file(String)
}

/// How lines of a log are written.
package enum LogFormat: Sendable, Equatable {
    /// One JSON object a line, with names of the gateway's own schema.
    case json
    /// One JSON object a line, with names of another one.
    case otherJSON(LogSchema)
    /// For people: the time, what happened, and `name=value` for the rest.
    case text

    /// Nil for text.
    var schema: LogSchema? {
        switch self {
        case .json: .own
        case .otherJSON(let schema): schema
        case .text: nil
        }
    }
}

/// Why a file cannot be written to, in an operator's words.
package struct LogError: Error, Equatable, CustomStringConvertible {
    package let description: String
}
