package import Logging

/// A line of the gateway's own log.
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

/// The gateway's own log, which any thread writes to without waiting.
package typealias ApplicationLog = QueuedLog<ApplicationEncoder>

extension QueuedLog where Encoder == ApplicationEncoder {
    package convenience init(_ format: LogFormat, capacity: Int = 8192, write: @escaping Write) {
        self.init(
            name: "application-log", capacity: capacity, encoder: ApplicationEncoder(format), write: write)
    }
}

/// Writes lines of the gateway's own log, as JSON with `time`, `level`, `message` and then the metadata by their names,
/// or for people.
///
/// What was taken from outside may be in metadata and in messages: it can begin no line, and speak to no terminal.
package struct ApplicationEncoder: LineEncoder {
    private let format: LogFormat
    private var clock = TimestampEncoder()

    package init(_ format: LogFormat = .json) {
        self.format = format
    }

    package mutating func encode(_ record: ApplicationRecord, into line: inout [UInt8]) {
        let metadata = record.metadata.sorted { $0.key < $1.key }
        switch format {
        case .json:
            line.append(contentsOf: #"{"time":""#.utf8)
            clock.append(milliseconds: record.time, to: &line)
            line.append(UInt8(ascii: "\""))
            line.appendField("level", record.level.rawValue)
            line.appendField("message", record.message)
            for (name, value) in metadata {
                // A name that stands already would be a second one of the same object (RFC 8259, section 4).
                let isTaken = ["time", "level", "message"].contains(name)
                line.append(UInt8(ascii: ","))
                line.appendQuoted(isTaken ? name + "_" : name)
                line.append(UInt8(ascii: ":"))
                line.appendQuoted("\(value)")
            }
            line.append(UInt8(ascii: "}"))
        case .text:
            clock.append(milliseconds: record.time, to: &line)
            line.append(contentsOf: " \(record.level.rawValue) ".utf8)
            line.appendEscaped(record.message)
            for (name, value) in metadata { line.appendTextField(name, "\(value)") }
        }
    }
}
