internal import Yams

/// Hints at the probable mistake behind a YAML syntax error, since the parser's messages describe its grammar.
enum YAMLHint {
    /// - Parameters:
    ///   - problem: the parser's message.
    ///   - context: the parser's description of what it was reading.
    /// - Returns: nil if no mistake is the most probable one. Quotes at most one character of the text.
    static func hint(_ problem: String, _ context: String, at mark: Mark, in text: String) -> String? {
        let line = line(mark.line, of: text)
        if line.prefix(while: { $0 == " " || $0 == "\t" }).contains("\t") {
            return "the line begins with a tab: indent with spaces"
        }
        let before = line.prefix(max(0, mark.column - 1))
        return switch true {
        case problem.hasPrefix("mapping values are not allowed"):
            before.contains(": ")
                ? "put a value that contains \": \" in quotes"
                : "indent the line as its neighbours, or end the line above with a colon"
        case problem.hasPrefix("found character that cannot start any token"):
            switch line.dropFirst(before.count).first {
            case "\t": "put spaces in place of the tab"
            case let character?: "put a value that begins with \"\(character)\" in quotes"
            case nil: nil
            }
        case context.contains("alias"), problem.contains("alias"): "put a value that begins with \"*\" in quotes"
        case context.contains("anchor"): "put a value that begins with \"&\" in quotes"
        case context.contains("tag"): "put a value that begins with \"!\" in quotes"
        case context.contains("quoted scalar"): "close the quotes of the value"
        case context.contains("flow"): "close the [ or { before it, or put its value in quotes"
        case problem.hasPrefix("could not find expected ':'"): "write a colon and a space behind the key"
        case problem.hasPrefix("did not find expected"): "indent the line as its neighbours"
        default: nil
        }
    }

    private static func line(_ number: Int, of text: String) -> Substring {
        // A line may end with a carriage return and a line feed, which are one character.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.indices.contains(number - 1) ? lines[number - 1] : ""
    }
}
