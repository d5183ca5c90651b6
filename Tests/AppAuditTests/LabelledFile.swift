import Foundation

@testable import AppAudit

/// A file of the labelled set: its text, and the findings that a reader of the file expects.
///
/// A document of the set has many files. A line `=== PATH` begins one. Behind ` @@ `, a line names the rules that find
/// something in it, with `note:` before the rule for comments, tests and documents. Rules behind the path find the file.
/// A document in the folder of archives is one archive, and a form in brackets behind the path makes an entry of the text.
struct LabelledFile: Sendable {
    struct Label: Hashable, Sendable, CustomStringConvertible {
        let path: String
        let line: Int?
        let rule: Rule
        let isNote: Bool

        var severity: Severity { isNote ? .note : rule.severity }
        var description: String { "\(path):\(line.map(String.init) ?? "-"): \(isNote ? "note:" : "")\(rule.rawValue)" }
    }

    /// The bytes that the text stands for. In all but text, each line is one string, and findings have no line.
    enum Form: String {
        case text
        case machO = "mach-o"
        case elf
        case dex
        case hermes
        case utf16 = "utf-16"
        case binaryPropertyList = "binary-plist"
    }

    let path: String
    let text: String
    let labels: [Label]
    var form = Form.text

    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
    private static let mark = " @@ "

    /// The files of all documents in a folder of the fixtures.
    static func all(in folder: String) throws -> [LabelledFile] {
        try documents(in: folder).flatMap { try files(of: $0) }
    }

    static func documents(in folder: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: fixtures.appending(path: folder), includingPropertiesForKeys: nil
        )
        .filter { $0.pathExtension == "txt" }.sorted { $0.path < $1.path }
    }

    static func files(of document: URL) throws -> [LabelledFile] {
        let text = try String(contentsOf: document, encoding: .utf8)
        let start = "=== "
        var sections: [(head: Substring, lines: [Substring])] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(start) {
                sections.append((line.dropFirst(start.count), []))
            } else if let last = sections.indices.last {
                sections[last].lines.append(line)
            }
        }
        return try sections.map { try LabelledFile($0.head, $0.lines) }
    }

    private init(_ head: Substring, _ lines: [Substring]) throws {
        let (name, rules) = Self.parts(head)
        let path = name.prefix { $0 != "[" }.trimmingCharacters(in: .whitespaces)
        let form =
            name.split(separator: "[").dropFirst().first.flatMap { Form(rawValue: String($0.dropLast())) } ?? .text
        var labels = try rules.map { try Self.label($0, path, line: nil) }
        var text = ""
        for (index, line) in lines.enumerated() {
            let (content, rules) = Self.parts(line)
            text += content + "\n"
            labels += try rules.map { try Self.label($0, path, line: form == .text ? index + 1 : nil) }
        }
        (self.path, self.text, self.labels, self.form) = (path, text, labels, form)
    }

    private static func parts(_ line: Substring) -> (content: String, rules: [String]) {
        guard let range = line.range(of: mark) else { return (String(line), []) }
        return (String(line[..<range.lowerBound]), line[range.upperBound...].components(separatedBy: ", "))
    }

    private struct UnknownRule: Error {
        let name: String
    }

    private static func label(_ text: String, _ path: String, line: Int?) throws -> Label {
        let isNote = text.hasPrefix("note:")
        let name = isNote ? String(text.dropFirst(5)) : text
        guard let rule = Rule(rawValue: name) else { throw UnknownRule(name: name) }
        return Label(path: path, line: line, rule: rule, isNote: isNote)
    }
}

extension Finding {
    var label: LabelledFile.Label {
        LabelledFile.Label(path: path, line: line, rule: rule, isNote: severity == .note)
    }
}
