package import SettingsReader

/// The variables of a file such as systemd's `EnvironmentFile=` (systemd.exec(5)), parsed as systemd parses it, so that
/// a command has the same environment as the service.
///
/// A line is `NAME=value`; a line that begins with `#` or `;` is a comment. Blanks around an unquoted value are
/// ignored. Single quotes preserve everything; in double quotes and outside quotes a backslash preserves the next
/// character and joins lines. A line that sets nothing is an error. systemd only logs it and continues, but nobody
/// reads that log where a command is run. A line that some versions of systemd read and others ignore is an error too.
package enum EnvironmentFile {
    package struct Variable: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// The variables in the file's order; of two with the same name, the later one counts.
    ///
    /// - Parameter file: the file's name in errors.
    /// - Throws: ``SettingsErrors`` with every line that sets nothing. The lines are not quoted, since they may hold
    ///   parts of secrets.
    package static func variables(_ text: String, of file: String) throws(SettingsErrors) -> [Variable] {
        var reader = EnvironmentFileReader()
        for character in text.unicodeScalars { reader.read(character) }
        reader.end()
        guard reader.errors.isEmpty else {
            throw SettingsErrors(
                errors: reader.errors.map {
                    SettingsError(file: file, line: $0.line, column: nil, keyPath: "", message: $0.message)
                })
        }
        return reader.variables
    }
}

private struct EnvironmentFileReader {
    private enum State {
        case beforeName, name, beforeValue, value, valueEscape
        case singleQuoted, doubleQuoted, doubleQuotedEscape, comment, commentEscape, afterEscapedComment
    }

    private(set) var variables: [EnvironmentFile.Variable] = []
    private(set) var errors: [(line: Int, message: String)] = []
    private var line = 1
    /// The line where the name begins.
    private var firstLine = 1
    private var state = State.beforeName
    private var name = ""
    private var value = ""
    /// The part of `value` without trailing blanks, which count only if more text follows.
    private var trimmed = ""

    mutating func read(_ character: Unicode.Scalar) {
        defer { if character == "\n" { line += 1 } }
        switch state {
        case .beforeName: beforeName(character)
        case .name: inName(character)
        case .beforeValue, .value: inValue(character)
        case .valueEscape:
            state = .value
            if character != "\n" { keep(character) }
        case .singleQuoted: if character == "'" { state = .beforeValue } else { keep(character) }
        case .doubleQuoted: inDoubleQuotes(character)
        case .doubleQuotedEscape:
            state = .doubleQuoted
            if !"\"\\`$\n".unicodeScalars.contains(character) { keep("\\") }
            if character != "\n" { keep(character) }
        case .comment: inComment(character)
        case .commentEscape: state = character == "\n" ? .afterEscapedComment : .comment
        case .afterEscapedComment: afterEscapedComment(character)
        }
    }

    private mutating func beforeName(_ character: Unicode.Scalar) {
        if character == "#" || character == ";" {
            state = .comment
        } else if !Self.isBlank(character) {
            (state, firstLine) = (.name, line)
            name.unicodeScalars.append(character)
        }
    }

    private mutating func inName(_ character: Unicode.Scalar) {
        switch character {
        case "\n", "\r": refuse("is not NAME=value, and systemd passes over it")
        case "=": state = .beforeValue
        default: name.unicodeScalars.append(character)
        }
    }

    private mutating func inValue(_ character: Unicode.Scalar) {
        switch character {
        case "\n", "\r": finish()
        case "'" where state == .beforeValue: state = .singleQuoted
        case "\"" where state == .beforeValue: state = .doubleQuoted
        case "\\": state = .valueEscape
        case _ where Self.isBlank(character):
            if state == .value { value.unicodeScalars.append(character) }
        default:
            state = .value
            keep(character)
        }
    }

    private mutating func inDoubleQuotes(_ character: Unicode.Scalar) {
        switch character {
        case "\"": state = .beforeValue
        case "\\": state = .doubleQuotedEscape
        default: keep(character)
        }
    }

    private mutating func inComment(_ character: Unicode.Scalar) {
        switch character {
        case "\n", "\r": state = .beforeName
        case "\\": state = .commentEscape
        default: break
        }
    }

    /// Reads a character of the line after a comment that ends with a backslash.
    private mutating func afterEscapedComment(_ character: Unicode.Scalar) {
        if character == "\n" { return state = .beforeName }
        if Self.isBlank(character) { return }
        if character != "#", character != ";" {
            firstLine = line
            refuse("stands below a comment that ends with a backslash, and systemd before version 254 passes over it")
        }
        state = .comment
    }

    private mutating func keep(_ character: Unicode.Scalar) {
        value.unicodeScalars.append(character)
        trimmed = value
    }

    mutating func end() {
        switch state {
        case .beforeName, .comment, .commentEscape, .afterEscapedComment: begin()
        case .name: refuse("is not NAME=value, and systemd passes over it")
        default: finish()
        }
    }

    private mutating func finish() {
        while let last = name.unicodeScalars.last, Self.isBlank(last) { name.unicodeScalars.removeLast() }
        guard Self.isName(name) else {
            return refuse("what stands before the = is no variable's name, and systemd passes over it")
        }
        variables.append(.init(name: name, value: trimmed))
        begin()
    }

    private mutating func refuse(_ message: String) {
        errors.append((firstLine, message))
        begin()
    }

    private mutating func begin() {
        state = .beforeName
        (name, value, trimmed) = ("", "", "")
    }

    private static func isBlank(_ character: Unicode.Scalar) -> Bool {
        character == " " || character == "\t" || character == "\n" || character == "\r"
    }

    /// Whether `text` is a valid name of an environment variable (POSIX.1-2017 §8.1).
    private static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, first.properties.numericType == nil else { return false }
        return text.unicodeScalars.allSatisfy { character in
            character == "_" || (character.isASCII && character.properties.isAlphabetic)
                || ("0"..."9").contains(character)
        }
    }
}
