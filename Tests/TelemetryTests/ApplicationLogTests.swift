import Encoding
import Foundation
import Logging
import Testing

@testable import Telemetry

@Suite("The gateway's own log")
struct ApplicationLogTests {
    static func line(_ format: LogFormat, _ message: String, _ metadata: Logger.Metadata) -> String {
        var encoder = ApplicationEncoder(format)
        var bytes: [UInt8] = []
        encoder.encode(
            ApplicationRecord(time: 1_700_000_000_123, level: .warning, message: message, metadata: metadata),
            into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A line is JSON with time, level, message and the metadata")
    func json() {
        #expect(
            Self.line(.json, "key set \"old\"", ["issuer": "pool", "age": "7"])
                == #"{"time":"2023-11-14T22:13:20.123Z","type":"application","level":"warning","message":"key set \"old\"","age":"7","#
                + #""issuer":"pool"}"#)
    }

    @Test("Numbers are numbers, and what only looks like one is text")
    func numbers() {
        let line = Self.line(
            .json, "m", ["a": .stringConvertible(7), "b": .stringConvertible(Int64.min), "c": "7", "d": "\(7)"])
        #expect(line.hasSuffix(#""a":7,"b":-9223372036854775808,"c":"7","d":"7"}"#))
    }

    @Test("On a terminal the level stands out, and only in text", arguments: [LogFormat.json, .text])
    func colours(format: LogFormat) {
        func line(_ level: Logger.Level) -> String {
            var encoder = ApplicationEncoder(format, hasColours: true)
            var bytes: [UInt8] = []
            encoder.encode(ApplicationRecord(time: 0, level: level, message: "m"), into: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(line(.warning).contains("\u{1B}[33mwarning\u{1B}[0m m") == (format == .text))
        #expect(line(.error).contains("\u{1B}[31merror\u{1B}[0m m") == (format == .text))
        #expect(!line(.info).contains("\u{1B}"))
    }

    @Test("Metadata that has a name of the line's own gets another")
    func clash() throws {
        let line = Self.line(.json, "m", ["level": "high", "time": "late"])
        let json = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(json["level"] == "warning" && json["level_"] == "high" && json["time_"] == "late")
    }

    @Test("For people it is text, and values are quoted where they would be unclear")
    func text() {
        #expect(
            Self.line(.text, "key set \"old\"", ["issuer": "pool", "error": "a b", "none": ""])
                == "2023-11-14T22:13:20.123Z warning key set \"old\" error=\"a b\" issuer=pool none=\"\"")
    }

    @Test(
        "What came from outside cannot begin another line, nor speak to a terminal",
        arguments: [LogFormat.json, .text], ["a\r\nb", "a\u{1b}[31m", "\u{9b}1m", "a\u{2028}b", "\u{202e}a", "\u{0}"])
    func escapes(format: LogFormat, text: String) {
        let line = Self.line(format, text, [text: "\(text)"])
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 || ("\u{7f}"..."\u{9f}").contains($0) })
        #expect(!line.unicodeScalars.contains { $0 == "\u{2028}" || $0 == "\u{202e}" })
    }

    @Test("Loggers hand over what their level lets through, also when it is changed")
    func level() {
        let sink = Sink()
        let level = SharedLogLevel(.warning)
        let log = ApplicationLog(ApplicationEncoder(), write: sink.write)
        var logger = Logger(label: "x") { _ in
            ApplicationLogHandler(log, level: level, provider: Logger.MetadataProvider { ["trace_id": "t"] })
        }
        logger[metadataKey: "own"] = "1"
        logger.info("quiet")
        level.value = .info
        logger.info("loud", metadata: ["call": "2"])
        log.shutdown(within: .seconds(60))
        #expect(sink.lines.count == 1)
        #expect(sink.lines.first?.hasSuffix(#""message":"loud","call":"2","own":"1","trace_id":"t"}"#) == true)
    }
}
