import Testing

@testable import AppAudit

/// The results are those of `git check-ignore --no-index`.
@Suite("Ignore files")
struct IgnoreRulesTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let patterns: String
        let path: String
        let isExcluded: Bool?

        init(_ patterns: String, _ path: String, _ isExcluded: Bool?) {
            (self.patterns, self.path, self.isExcluded) = (patterns, path, isExcluded)
        }

        var testDescription: String { "\(patterns.replacing("\n", with: "|")) \(path)" }
    }

    private static let samples = [
        Sample("*.json", "a/b.json", true),
        Sample("*.json", "a/b.jsonc", nil),
        Sample("/a", "a", true),
        Sample("/a", "b/a", nil),
        Sample("a/b", "a/b", true),
        Sample("a/b", "c/a/b", nil),
        Sample("**/b", "c/a/b", true),
        Sample("a/**", "a/b/c", true),
        Sample("a/**", "a", nil),
        Sample("a/**/c", "a/c", true),
        Sample("a/**/c", "a/b/b/c", true),
        Sample("build/", "build/", true),
        Sample("build/", "build", nil),
        Sample("*.plist\n!Info.plist", "Info.plist", false),
        Sample("!Info.plist\n*.plist", "Info.plist", true),
        Sample("# a", "# a", nil),
        Sample("\\#a", "#a", true),
        Sample("\\!a", "!a", true),
        Sample("a ", "a", true),
        Sample("a\\ ", "a ", true),
        Sample("a?c", "abc", true),
        Sample("a?c", "a/c", nil),
        Sample("[ab].c", "b.c", true),
        Sample("[!ab].c", "b.c", nil),
        Sample("[a-c]x", "bx", true),
        Sample("[]a]x", "]x", true),
        Sample("a*b*c", "aXbYc", true),
        Sample("a*b*c", "aXcYb", nil),
        Sample("a\r", "a", true),
        Sample("", "a", nil),
    ]

    @Test("Patterns match as git's do", arguments: samples)
    func match(sample: Sample) {
        let names = sample.path.split(separator: "/").map { Array($0.utf8) }
        let result = IgnoreRules(sample.patterns.utf8)
            .excludes(names[...], isDirectory: sample.path.hasSuffix("/"))
        #expect(result == sample.isExcluded)
    }

    @Test("Many stars take no exponential time", .timeLimit(.minutes(10)))
    func stars() {
        let pattern = Array(String(repeating: "*a", count: 100).utf8) + [UInt8(ascii: "b")]
        #expect(!Wildcards.match(pattern, Array(String(repeating: "a", count: 5000).utf8)))
        let deep = String(repeating: "**/a/", count: 12) + "b"
        let names = [[UInt8]](repeating: [UInt8(ascii: "a")], count: 40)
        #expect(IgnoreRules(deep.utf8).excludes(names[...], isDirectory: false) == nil)
    }
}
