/// An error in a settings file, with its position.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file's path, as it was given.
    package let file: String
    /// From 1. For a key that is missing, the line of the section that should hold it.
    package let line: Int
    /// From 1, in Unicode scalars.
    package let column: Int?
    /// Such as `routes[3].access`; empty for an error of the file as a whole.
    package let keyPath: String
    /// The error and its remedy. Never holds a secret's value, nor text from the environment.
    package let message: String

    /// Escapes control characters that came from the file, so that they can't control the operator's terminal.
    package init(file: String, line: Int, column: Int?, keyPath: String, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.keyPath = printable(keyPath)
        self.message = printable(message)
    }

    /// `gatehouse.yaml:12:`; without a key path, the column follows: `gatehouse.yaml:12:7:`.
    package var writtenPlace: String {
        "\(file):\(line):" + (keyPath.isEmpty ? column.map { "\($0):" } ?? "" : "")
    }

    /// `gatehouse.yaml:12: routes[3].access: must be …`
    package var description: String {
        writtenPlace + " " + (keyPath.isEmpty ? message : "\(keyPath): \(message)")
    }
}

/// All errors of a settings file, sorted by line; never empty.
package struct SettingsErrors: Error, Sendable, CustomStringConvertible {
    package let errors: [SettingsError]

    package init(errors: [SettingsError]) {
        self.errors = errors
    }

    /// One error per line.
    package var description: String {
        errors.map(\.description).joined(separator: "\n")
    }
}

/// Returns `text` with control and formatting characters escaped, including those that change the text's direction.
func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
            result += scalar.escaped(asASCII: true)
        default:
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}
