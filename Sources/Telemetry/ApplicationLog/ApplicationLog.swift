package import Logging

/// A record of the application log.
package struct ApplicationRecord: Sendable {
    /// Milliseconds since 1970.
    package var time: Int64
    package var level: Logger.Level
    package var message: String
    package var metadata: Logger.Metadata

    package init(time: Int64, level: Logger.Level, message: String, metadata: Logger.Metadata = [:]) {
        self.time = time
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}

/// The application log. Any thread can write to it without waiting.
typealias ApplicationLog = QueuedLog<ApplicationEncoder>

extension QueuedLog where Encoder == ApplicationEncoder {
    package convenience init(_ encoder: ApplicationEncoder, capacity: Int = 8192, write: @escaping Write) {
        self.init(name: "application-log", capacity: capacity, encoder: encoder, write: write)
    }
}

/// Writes lines of the application log: as JSON with `time`, `type`, `level`, `message` and then the metadata by name,
/// or as text for people.
///
/// Metadata and messages may contain untrusted text. It is escaped, so that it can neither begin a new line nor control
/// a terminal.
package struct ApplicationEncoder: LineEncoder {
    /// Nil for text.
    private let names: LogNames?
    private let hasColours: Bool
    private var clock = TimestampEncoder()

    /// - Parameter hasColours: whether the level is coloured in text, for a terminal.
    package init(_ format: LogFormat = .json, hasColours: Bool = false) {
        names = format.schema.map { LogNames($0, .application) }
        self.hasColours = hasColours
    }

    package mutating func encode(_ record: ApplicationRecord, into line: inout [UInt8]) {
        let metadata = record.metadata.sorted { $0.key < $1.key }
        if let names {
            line.append(contentsOf: names.begin)
            clock.append(milliseconds: record.time, to: &line)
            line.append(contentsOf: names.afterTime)
            line.appendField(names[.level], record.level.rawValue)
            line.appendField(names[.message], record.message)
            for (name, value) in metadata {
                line.append(UInt8(ascii: ","))
                line.appendQuoted(names.name(ofMetadata: name))
                line.append(UInt8(ascii: ":"))
                line.append(value)
            }
            line.append(UInt8(ascii: "}"))
        } else {
            clock.append(milliseconds: record.time, to: &line)
            line.append(contentsOf: " \(text(of: record.level)) ".utf8)
            line.appendEscaped(record.message)
            for (name, value) in metadata { line.appendTextField(name, "\(value)") }
        }
    }

    /// The level with the colour of its urgency (ECMA-48 §8.3.117). `info` has no colour.
    private func text(of level: Logger.Level) -> String {
        let colour: String? =
            switch level {
            case .trace, .debug: "2"
            case .info: nil
            case .notice: "36"
            case .warning: "33"
            case .error: "31"
            case .critical: "1;31"
            }
        guard hasColours, let colour else { return level.rawValue }
        return "\u{1B}[\(colour)m\(level.rawValue)\u{1B}[0m"
    }
}

extension [UInt8] {
    /// Appends integers as JSON numbers, and everything else as strings.
    fileprivate mutating func append(_ value: Logger.MetadataValue) {
        if case .stringConvertible(let number) = value, let number = number as? any BinaryInteger {
            append(contentsOf: String(number).utf8)
        } else {
            appendQuoted("\(value)")
        }
    }
}
