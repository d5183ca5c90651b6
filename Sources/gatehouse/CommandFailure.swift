internal import ArgumentParser
internal import Encoding
internal import Keys
internal import Pipeline
internal import Sessions
internal import Settings
internal import SettingsReader
internal import Store

/// Why a command has not done what it was asked for: in words on standard error, or with `--json` as JSON where the
/// result would have been.
struct CommandFailure: Error {
    private let object: JSONObject
    /// For people; a line for each fault.
    private let lines: [String]
    let status: ExitCode

    init(_ text: String, status: ExitCode = .failure) {
        object = ["good": false, "text": .string(text)]
        lines = [text]
        self.status = status
    }

    /// - Parameters:
    ///   - origin: what the settings' faults are in.
    ///   - reader: who has read them, where that is not who runs the command.
    init(_ errors: SettingsErrors, in origin: String, readBy reader: String? = nil) {
        var object: JSONObject = [
            "config": .string(origin), "good": false, "faults": .array(errors.errors.map(\.json)),
        ]
        if let reader { object["read_by"] = .string(reader) }
        self.object = object
        lines = errors.errors.map { $0.text(on: .standardError) } + (reader.map { ["(read as \($0))"] } ?? [])
        status = .invalidConfiguration
    }

    /// Nil for what the parser of the command line tells itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let errors as SettingsErrors: self.init(errors, in: errors.errors.first?.file ?? "")
        case let error as StartupError: self.init("\(error)")
        case let error as KeyFileError: self.init("\(error)")
        case let error as SharedKeyError: self.init("\(error)")
        case let error as UserAdministration.Failure: self.init("\(error)")
        case let refusal as Refusal: self.init("the state directory cannot be used now: \(refusal.reason.code)")
        default: return nil
        }
    }

    func report(asJSON: Bool) {
        guard asJSON else { return StandardError.write(lines.map { $0 + "\n" }.joined()) }
        StandardOutput.line(String(decoding: object.encoded(), as: UTF8.self))
    }
}

/// A command's options for its output: as JSON, or as text.
protocol ResultOptions {
    var json: Bool { get }
}

/// A command whose failures are told as its results are.
protocol ReportingCommand: ParsableCommand {
    associatedtype Output: ResultOptions
    var output: Output { get }
}

extension ParsableCommand {
    /// Tells why this has failed.
    ///
    /// - Returns: what the process ends with.
    func ending(with error: any Error) -> any Error {
        let asJSON = (self as? any ReportingCommand)?.output.json ?? false
        if let failure = CommandFailure(error) {
            failure.report(asJSON: asJSON)
            return failure.status
        }
        guard asJSON, !(error is ExitCode) else { return error }
        CommandFailure(Self.message(for: error)).report(asJSON: true)
        return Self.exitCode(for: error)
    }
}

extension SettingsError {
    /// For people: the place and the key stand out.
    func text(on terminal: Terminal) -> String {
        let place = terminal.styled(.bold, writtenPlace)
        return keyPath.isEmpty
            ? "\(place) \(message)" : "\(place) \(terminal.styled(.bad, keyPath)): \(message)"
    }

    fileprivate var json: JSON {
        [
            "file": .string(file), "line": .number(JSONNumber(line)),
            "column": column.map { .number(JSONNumber($0)) } ?? .null, "key": .string(keyPath),
            "message": .string(message),
        ]
    }
}
