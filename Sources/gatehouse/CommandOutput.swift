import ArgumentParser
import Encoding

/// The `--json` option of commands that print results.
struct OutputOptions: ParsableArguments, ResultOptions {
    @Flag(help: "Print the result as JSON.")
    var json = false

    /// Prints the object with `--json`, otherwise the text.
    func report(_ object: @autoclosure () -> JSONObject, text: @autoclosure () -> String) {
        StandardOutput.line(json ? String(decoding: object().encoded(), as: UTF8.self) : text())
    }

    /// Prints a message about the completed action.
    func done(_ text: String) {
        report(["good": true, "done": true, "text": .string(text)], text: Terminal.standardOutput.styled(.good, text))
    }
}

/// The `--json` option of commands that list stored records. Without a terminal they always print lines of JSON.
struct ListingOptions: ParsableArguments, ResultOptions {
    @Flag(help: "Print lines of JSON also on a terminal, as always into a pipe or a file.")
    var json = false

    /// Prints a line for each object: in columns under a heading on a terminal, otherwise as JSON.
    func report(_ objects: [JSONObject], columns: [String]) {
        guard isForPeople else {
            for object in objects { StandardOutput.line(String(decoding: object.encoded(), as: UTF8.self)) }
            return
        }
        let headings = columns.map { column in String(column.map { $0 == "_" ? " " : $0 }) }
        let rows = objects.map { object in columns.map { object.text($0) } }
        for line in Columns([headings] + rows).lines(on: .standardOutput) { StandardOutput.line(line) }
    }

    /// Prints one object: a line for each member on a terminal, otherwise as JSON.
    func report(_ object: JSONObject) {
        guard isForPeople else { return report([object], columns: []) }
        let terminal = Terminal.standardOutput
        for member in object {
            let name = terminal.styled(.bold, member.name.split(separator: "_").joined(separator: " "))
            StandardOutput.line("\(name): \(Columns.visible(object.text(member.name)))")
        }
    }

    private var isForPeople: Bool { !json && Terminal.standardOutput.isTerminal }
}
