/// The elements of a language's syntax that separate comments and strings from code.
struct Grammar: Sendable {
    struct Delimiter: Sendable {
        var opening: [UInt8]
        var closing: [UInt8]
        var escapes = true
        var spansLines = false
        /// The text that begins an interpolated expression, up to its bracket.
        var interpolation: [UInt8]?
        /// Whether `#` around the string changes its escapes, as in Swift.
        var isRawByHashes = false
        /// Whether a string that is a whole statement is a comment, as in Python.
        var mayBeDocumentation = false

        init(_ opening: String, _ closing: String? = nil) {
            self.opening = Array(opening.utf8)
            self.closing = Array((closing ?? opening).utf8)
        }

        func spanningLines() -> Self { with { $0.spansLines = true } }
        func raw() -> Self { with { $0.escapes = false } }
        func interpolated(_ text: String) -> Self { with { $0.interpolation = Array(text.utf8) } }
        func rawByHashes() -> Self { with { $0.isRawByHashes = true } }
        func documenting() -> Self { with { $0.mayBeDocumentation = true } }

        private func with(_ change: (inout Self) -> Void) -> Self {
            var copy = self
            change(&copy)
            return copy
        }
    }

    var lineComments: [[UInt8]] = []
    var blockComment: (opening: [UInt8], closing: [UInt8])?
    var blockCommentsNest = false
    /// The delimiters, longest opening first.
    var strings: [Delimiter] = []
    var hasCharacterLiterals = false
    var hasRegularExpressions = false
    /// Whether `#` begins a comment only at the start of a word, as in YAML.
    var commentsNeedSpace = false
    /// Whether a comment must be at the start of its line, as in properties files.
    var commentsStartLines = false

    private static func slashes(nesting: Bool, _ strings: [Delimiter], characters: Bool = false) -> Grammar {
        Grammar(
            lineComments: [Array("//".utf8)], blockComment: (Array("/*".utf8), Array("*/".utf8)),
            blockCommentsNest: nesting, strings: strings, hasCharacterLiterals: characters)
    }

    private static func hashes(_ strings: [Delimiter], needSpace: Bool = false) -> Grammar {
        Grammar(lineComments: [Array("#".utf8)], strings: strings, commentsNeedSpace: needSpace)
    }

    /// The grammar of a language; nil for languages without comments and strings.
    static func of(_ language: Language) -> Grammar? { table[language] }

    private static let table: [Language: Grammar] = [
        .swift: slashes(
            nesting: true,
            [
                Delimiter("\"\"\"").spanningLines().interpolated("\\(").rawByHashes(),
                Delimiter("\"").interpolated("\\(").rawByHashes(),
            ]),
        .objectiveC: slashes(nesting: false, [Delimiter("\"")], characters: true),
        .kotlin: slashes(
            nesting: true,
            [Delimiter("\"\"\"").spanningLines().raw().interpolated("${"), Delimiter("\"").interpolated("${")],
            characters: true),
        .java: slashes(
            nesting: false, [Delimiter("\"\"\"").spanningLines(), Delimiter("\"")], characters: true),
        .javaScript: javaScript,
        .dart: slashes(
            nesting: true,
            [
                Delimiter("r\"\"\"", "\"\"\"").spanningLines().raw(), Delimiter("r'''", "'''").spanningLines().raw(),
                Delimiter("\"\"\"").spanningLines().interpolated("${"),
                Delimiter("'''").spanningLines().interpolated("${"), Delimiter("r\"", "\"").raw(),
                Delimiter("r'", "'").raw(), Delimiter("\"").interpolated("${"), Delimiter("'").interpolated("${"),
            ]),
        .python: hashes([
            Delimiter("\"\"\"").spanningLines().documenting(), Delimiter("'''").spanningLines().documenting(),
            Delimiter("\""), Delimiter("'"),
        ]),
        .json: slashes(nesting: false, [Delimiter("\"")]),
        .yaml: hashes([Delimiter("\"").spanningLines(), Delimiter("'").raw().spanningLines()], needSpace: true),
        .xml: Grammar(blockComment: (Array("<!--".utf8), Array("-->".utf8))),
        .groovy: slashes(
            nesting: false,
            [
                Delimiter("\"\"\"").spanningLines().interpolated("${"), Delimiter("'''").spanningLines(),
                Delimiter("\"").interpolated("${"), Delimiter("'"),
            ]),
        .toml: hashes([
            Delimiter("\"\"\"").spanningLines(), Delimiter("'''").spanningLines().raw(), Delimiter("\""),
            Delimiter("'").raw(),
        ]),
        .ruby: ruby,
        .properties: Grammar(
            lineComments: [Array("#".utf8), Array("!".utf8), Array(";".utf8), Array("//".utf8)],
            commentsStartLines: true),
        .openStep: slashes(nesting: false, [Delimiter("\"").spanningLines()]),
    ]

    private static var javaScript: Grammar {
        var grammar = slashes(
            nesting: false,
            [Delimiter("`").spanningLines().interpolated("${"), Delimiter("\""), Delimiter("'")])
        grammar.hasRegularExpressions = true
        return grammar
    }

    private static var ruby: Grammar {
        var grammar = hashes([Delimiter("\"").interpolated("#{"), Delimiter("'")])
        grammar.blockComment = (Array("=begin".utf8), Array("=end".utf8))
        return grammar
    }
}
