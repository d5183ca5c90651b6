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

/// Puts the environment's values in the places of `${NAME}`; `$${` stands for `${` itself, any other `$` for itself.
///
/// A value is taken as it is: nothing inside it is expanded again.
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

/// Whether the value of `text` depends on the environment.
func namesVariable(_ text: String) -> Bool {
    text.replacing("$${", with: "").contains("${")
}

/// Whether a text is `$NAME`, which a shell would replace.
func isShellVariable(_ text: String) -> Bool { text.hasPrefix("$") && isVariableName(text.dropFirst()) }

/// IEEE Std 1003.1, 8.1: letters, digits and underscores, not beginning with a digit.
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
