internal import ArgumentParser
internal import Encoding
internal import Keys
internal import Pipeline
internal import Sessions
internal import Settings
internal import SettingsReader
internal import Store

/// The failure of a command. It is printed to standard error as text, or with `--json` to standard output as JSON in
/// place of the result.
struct CommandFailure: Error {
    private let object: JSONObject
    /// For people; one line per error.
    private let lines: [String]
    let status: ExitCode

    init(_ text: String, status: ExitCode = .failure) {
        object = ["good": false, "text": .string(text)]
        lines = [text]
        self.status = status
    }

    /// - Parameters:
    ///   - origin: the source of the settings, such as a path.
    ///   - reader: the user who read the settings, if it is not the user who runs the command.
    init(_ errors: SettingsErrors, in origin: String, readBy reader: String? = nil) {
        var object: JSONObject = [
            "config": .string(origin), "good": false, "faults": .array(errors.errors.map(\.json)),
        ]
        if let reader { object["read_by"] = .string(reader) }
        self.object = object
        lines = errors.errors.map { $0.text(on: .standardError) } + (reader.map { ["(read as \($0))"] } ?? [])
        status = .invalidConfiguration
    }

    /// Nil for errors that the argument parser reports itself.
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

/// A command's options for its output: JSON or text.
protocol ResultOptions {
    var json: Bool { get }
}

/// A command whose failures are reported in the format of its results.
protocol ReportingCommand: ParsableCommand {
    associatedtype Output: ResultOptions
    var output: Output { get }
}

extension ParsableCommand {
    /// Reports the failure.
    ///
    /// - Returns: the error that determines the exit status.
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
    /// For people: the place and the key are highlighted.
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
