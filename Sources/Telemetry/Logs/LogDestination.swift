/// The destination of a log.
enum LogDestination: Hashable, Sendable {
    case standardOutput
    case standardError
    /// A file that lines are appended to.
    case file(String)
}

/// The format of a log's lines.
package enum LogFormat: Sendable, Equatable {
    /// One JSON object per line, with the names of the gateway's own schema.
    case json
    /// One JSON object per line, with the names of another schema.
    case otherJSON(LogSchema)
    /// Text for people: the time, the message, and `name=value` for the rest.
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

/// The reason why a file cannot be written to, as human-readable text.
package struct LogError: Error, Equatable, CustomStringConvertible {
    package let description: String
}
