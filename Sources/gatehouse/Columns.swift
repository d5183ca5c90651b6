import Encoding

/// Rows of text in columns, for people.
struct Columns {
    private let rows: [[String]]
    private let widths: [Int]

    /// - Parameter rows: rows of equal length; the first is the heading.
    init(_ rows: [[String]]) {
        let visible = rows.map { $0.map(Self.visible) }
        self.rows = visible
        widths = (visible.first ?? []).indices.map { column in visible.map { $0[column].count }.max() ?? 0 }
    }

    /// The lines of the table. The first one is the heading.
    func lines(on terminal: Terminal) -> [String] {
        rows.enumerated().map { number, row in
            let cells = zip(row, widths).map { text, width in
                text + String(repeating: " ", count: width - text.count)
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return number == 0 ? terminal.styled(.bold, line) : line
        }
    }

    /// Replaces characters that could move the cursor or change the direction of text.
    static func visible(_ text: String) -> String { text.visible }
}

extension JSONObject {
    /// The text of a member for people; a dash if it is absent or null.
    func text(_ name: String) -> String {
        switch self[name] {
        case nil, .null?: "-"
        case .string(let text)?: text
        case .some(let value): String(decoding: value.encoded(), as: UTF8.self)
        }
    }
}
