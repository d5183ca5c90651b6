/// Wraps the usage line of the argument parser, which wraps all other text at 80 columns.
enum BrokenUsage {
    private static let columns = 79
    private static let heading = "USAGE: "

    static func of(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.count > columns && line.lowercased().hasPrefix(heading.lowercased()) ? broken(line) : String(line)
        }
        return lines.joined(separator: "\n")
    }

    /// Wraps the line between two options or arguments; continuation lines are indented below the first word.
    private static func broken(_ usage: Substring) -> String {
        var lines = [""]
        for piece in pieces(usage) {
            if lines[lines.count - 1].count + 1 + piece.count > columns {
                lines.append(String(repeating: " ", count: heading.count) + piece)
            } else {
                lines[lines.count - 1] += (lines == [""] ? "" : " ") + piece
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The parts of a usage line that are not split: text in brackets, and an option with its value.
    private static func pieces(_ usage: Substring) -> [String] {
        var (pieces, depth) = ([String](), 0)
        for word in usage.split(separator: " ") {
            if depth > 0 || word.hasPrefix("<") && pieces.last?.hasPrefix("--") == true {
                pieces[pieces.count - 1] += " " + word
            } else {
                pieces.append(String(word))
            }
            depth += word.count { $0 == "[" } - word.count { $0 == "]" }
        }
        return pieces
    }
}
