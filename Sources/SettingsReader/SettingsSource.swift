internal import Yams

/// A settings file as a tree of nodes that know their lines.
///
/// Yams stops at the first key that is given twice in one section. To find the file's other errors as well, the first
/// of the two keys is renamed in the text and the text is parsed again. The new name has the same length, so that no
/// column changes.
struct SettingsSource {
    /// Nil if the file has only comments.
    let root: Node?
    /// The original names of renamed keys, by their replacements.
    let renamedKeys: [String: String]

    /// An error that stops the reading of a file as YAML.
    struct Failure: Error {
        let line: Int
        let column: Int?
        let message: String
    }

    /// The most keys that are renamed, since each rename parses the whole text again.
    private static let mostRenamed = 32

    init(_ bytes: [UInt8]) throws(Failure) {
        // A byte order mark at the beginning is not a part of the text (YAML 1.2.2, 5.2).
        let marked = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        guard let text = String(validating: bytes.dropFirst(marked ? 3 : 0), as: UTF8.self) else {
            throw Failure(line: Self.lineOfInvalidUTF8(bytes), column: nil, message: "is not valid UTF-8")
        }
        var source = text
        var renamedKeys: [String: String] = [:]
        while true {
            do {
                root = try compose(yaml: source)
                self.renamedKeys = renamedKeys
                return
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                // A name that was already renamed is the target of an alias: renaming it again would change nothing.
                guard let name = names.first, renamedKeys[name] == nil,
                    let renamed = Self.rename(name, at: context.mark, in: source, number: renamedKeys.count)
                else { throw Failure(context.mark, "a key is given more than once") }
                source = renamed.source
                renamedKeys[renamed.key] = name
            } catch let error as YamlError {
                throw Failure(error, in: source)
            } catch {
                throw Failure(line: 1, column: nil, message: "can't be read as YAML")
            }
        }
    }

    /// Replaces the first character of the key at `mark` with one of the private use area. Nil if the key is written
    /// differently there, for example with escapes in quotes.
    private static func rename(
        _ name: String, at mark: Mark, in source: String, number: Int
    ) -> (source: String, key: String)? {
        guard !name.isEmpty, number < mostRenamed, let replacement = Unicode.Scalar(0xE000 + UInt32(number)) else {
            return nil
        }
        var lines = source.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
        guard lines.indices.contains(mark.line - 1) else { return nil }
        var start = mark.column - 1
        let line = lines[mark.line - 1]
        if line.indices.contains(start), line[start] == "\"" || line[start] == "'" { start += 1 }
        let scalars = Array(name.unicodeScalars)
        guard line.dropFirst(start).starts(with: scalars) else { return nil }
        lines[mark.line - 1][start] = replacement
        var key = String.UnicodeScalarView([replacement])
        key.append(contentsOf: scalars.dropFirst())
        return (String(String.UnicodeScalarView(lines.joined(separator: ["\n"]))), String(key))
    }

    private static func lineOfInvalidUTF8(_ bytes: [UInt8]) -> Int {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let index = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil }
        return (index ?? 0) + 1
    }
}

extension SettingsSource.Failure {
    fileprivate init(_ mark: Mark, _ message: String) {
        self.init(line: max(mark.line, 1), column: mark.column, message: message)
    }

    /// The parser's message, which describes the syntax and never quotes the file, with a hint at the probable mistake.
    fileprivate init(_ error: YamlError, in text: String) {
        switch error {
        // The message of libyaml for this refers to its own programming interface.
        case .scanner(_, let problem, let mark, _) where problem.hasPrefix("Maximum nesting level"),
            .parser(_, let problem, let mark, _) where problem.hasPrefix("Maximum nesting level"):
            self.init(mark, "not valid YAML here: sections and lists are nested too deeply")
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _):
            self.init(mark, context?.text, problem, in: text)
        case .composer(let context, let problem, let mark, _):
            self.init(mark, context?.text, problem, in: text)
        case .reader(let problem, let offset, _, let yaml):
            let before = yaml.prefix(offset ?? 0)
            self.init(
                line: before.count(where: \.isNewline) + 1, column: nil, message: "not valid YAML: " + problem)
        default:
            self.init(line: 1, column: nil, message: "not valid YAML")
        }
    }

    private init(_ mark: Mark, _ context: String?, _ problem: String, in text: String) {
        let words = (context.map { "\($0), " } ?? "") + problem
        let hint = YAMLHint.hint(problem, context ?? "", at: mark, in: text).map { " (\($0))" } ?? ""
        self.init(mark, "not valid YAML: \(words)\(hint)")
    }
}
