/// One thing wrong with a settings file, and where.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file's path, as it was given.
    package let file: String
    /// From 1. For a key that is missing, the line of the section that should hold it.
    package let line: Int
    /// From 1, in Unicode scalars.
    package let column: Int?
    /// Such as `routes[3].access`; empty for a fault of the file as a whole.
    package let keyPath: String
    /// The error and its remedy. Never holds a secret's value, nor text from the environment.
    package let message: String

    /// Control characters that came from the file are made visible, so that it can't drive the terminal it is checked
    /// on.
    package init(file: String, line: Int, column: Int?, keyPath: String, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.keyPath = printable(keyPath)
        self.message = printable(message)
    }

    /// `gatehouse.yaml:12:`, and with the column where no key says more: `gatehouse.yaml:12:7:`.
    package var writtenPlace: String {
        "\(file):\(line):" + (keyPath.isEmpty ? column.map { "\($0):" } ?? "" : "")
    }

    /// `gatehouse.yaml:12: routes[3].access: must be …`
    package var description: String {
        writtenPlace + " " + (keyPath.isEmpty ? message : "\(keyPath): \(message)")
    }
}

/// Everything wrong with a settings file, sorted by line; never empty.
package struct SettingsErrors: Error, Sendable, CustomStringConvertible {
    package let errors: [SettingsError]

    package init(errors: [SettingsError]) {
        self.errors = errors
    }

    /// One fault a line.
    package var description: String {
        errors.map(\.description).joined(separator: "\n")
    }
}

/// `text` with control characters, and those that turn the direction of text, made visible.
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
