/// An error in the `${…}` of a text.
enum InterpolationFailure: Error, Equatable {
    case unclosed
    case badName
    case missing(String)

    var message: String {
        switch self {
        case .unclosed: "\"${\" without a closing \"}\" (write \"$${\" for the characters themselves)"
        case .badName: "\"${…}\" must hold the name of an environment variable: letters, digits and \"_\""
        case .missing(let name): "the environment variable \(name) is not set"
        }
    }
}

/// Replaces each `${NAME}` with the value of that environment variable. `$${` is a literal `${`; any other `$` is kept.
///
/// Values are inserted verbatim: nothing inside them is expanded.
func interpolate(
    _ text: String, environment: [String: String]
) throws(InterpolationFailure) -> String {
    var result = ""
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
        result += rest[..<dollar]
        rest = rest[dollar...]
        if rest.hasPrefix("$${") {
            result += "${"
            rest = rest.dropFirst(3)
        } else if rest.hasPrefix("${") {
            guard let end = rest.firstIndex(of: "}") else { throw .unclosed }
            result += try value(of: String(rest.dropFirst(2).prefix(upTo: end)), in: environment)
            rest = rest[end...].dropFirst()
        } else {
            result += "$"
            rest = rest.dropFirst()
        }
    }
    return result + rest
}

/// Whether `text` refers to an environment variable.
func namesVariable(_ text: String) -> Bool {
    text.replacing("$${", with: "").contains("${")
}

/// Whether `text` is `$NAME`, which a shell would expand.
func isShellVariable(_ text: String) -> Bool { text.hasPrefix("$") && isVariableName(text.dropFirst()) }

/// Whether `name` consists of letters, digits and underscores and begins with no digit (IEEE Std 1003.1, 8.1).
private func isVariableName(_ name: some StringProtocol) -> Bool {
    guard let first = name.first, !first.isNumber else { return false }
    return name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
}

private func value(
    of name: String, in environment: [String: String]
) throws(InterpolationFailure) -> String {
    guard isVariableName(name) else { throw .badName }
    guard let value = environment[name] else { throw .missing(name) }
    return value
}
