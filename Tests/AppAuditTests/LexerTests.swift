import Glibc
import Testing

@testable import AppAudit

@Suite("Lexer")
struct LexerTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let language: Language
        let text: String
        /// One character for each of the text's: `.` code, `s` string, `c` comment.
        let kinds: String

        var testDescription: String { "\(language.rawValue): \(text)" }
    }

    private static let samples = [
        Sample(language: .swift, text: #"a "b" // c"#, kinds: "..sss.cccc"),
        Sample(language: .swift, text: #""a\"b" c"#, kinds: "ssssss.."),
        Sample(language: .swift, text: #"/*a/*b*/c*/d"#, kinds: "ccccccccccc."),
        Sample(language: .swift, text: ##"#"a"b\(c)"# d"##, kinds: "sssssssssss.."),
        Sample(language: .swift, text: ###"##a #"b""# ##"c"##"###, kinds: "....ssssss.sssssss"),
        Sample(language: .swift, text: #""a\(b("c"))d" e"#, kinds: "ssss..sss..ss.."),
        Sample(language: .swift, text: "\"\"\"\na\"b\n\"\"\" c", kinds: "sssssssssss.."),
        Sample(language: .objectiveC, text: #"'"' @"a" //b"#, kinds: "....." + "sss.ccc"),
        Sample(language: .kotlin, text: #"'"' "${a}b""#, kinds: "....sss..ss"),
        Sample(language: .kotlin, text: #""""a\""" b"#, kinds: "ssssssss.."),
        Sample(language: .java, text: #"/*a/*b*/c"#, kinds: "cccccccc."),
        Sample(language: .javaScript, text: "`a${b}c` //d", kinds: "ssss..ss.ccc"),
        Sample(language: .javaScript, text: #"a = /"b/; "c""#, kinds: "..........sss"),
        Sample(language: .javaScript, text: #"a / b / "c""#, kinds: "........sss"),
        Sample(language: .dart, text: #"r'a\' 'b'"#, kinds: "sssss.sss"),
        Sample(language: .dart, text: #"'''a'b''' c"#, kinds: "sssssssss.."),
        Sample(language: .python, text: "'''a'''\nb = 'c' # d", kinds: "ccccccc.....sss.ccc"),
        Sample(language: .python, text: "b = '''c'''", kinds: "....sssssss"),
        Sample(language: .json, text: #"{"a": "b"} // c"#, kinds: ".sss..sss..cccc"),
        Sample(language: .yaml, text: "a: b#c # d", kinds: ".......ccc"),
        Sample(language: .yaml, text: "a: '# b'", kinds: "...sssss"),
        Sample(language: .xml, text: "<a><!-- b --></a>", kinds: "...cccccccccc...."),
        Sample(language: .groovy, text: "'a' \"b\" // c", kinds: "sss.sss.cccc"),
        Sample(language: .toml, text: "a = 'b\\' # c", kinds: "....ssss.ccc"),
        Sample(language: .ruby, text: "pod 'a' # b", kinds: "....sss.ccc"),
        Sample(language: .properties, text: "a=b#c\n# d", kinds: "......ccc"),
        Sample(language: .document, text: "\"a\" // b", kinds: "........"),
    ]

    @Test("Comments and strings are told apart from code", arguments: samples)
    func regions(sample: Sample) {
        let bytes = Array(sample.text.utf8)
        let regions = Lexer.regions(of: bytes, sample.language)
        let kinds = bytes.indices.map { place in
            switch regions.kind(at: place) {
            case .code: "."
            case .string: "s"
            case .comment: "c"
            }
        }
        #expect(kinds.joined() == sample.kinds)
    }

    @Test("An unclosed string ends with its line, and an unclosed comment with the file")
    func unclosed() {
        let string = Lexer.regions(of: Array("\"a\nb".utf8), .swift)
        #expect(string.kind(at: 1) == .string && string.kind(at: 3) == .code)
        let comment = Lexer.regions(of: Array("/* a\nb".utf8), .swift)
        #expect(comment.kind(at: 5) == .comment)
    }

    @Test("Every beginning of a text is read to its end", arguments: Language.allCases)
    func beginnings(language: Language) {
        let text = Array("a \"\\(b)${c}`#'''\"\"\" /* // <!-- r'x' =begin #\"\\#(\n/[/]/ 'é\\".utf8)
        for end in 0...text.count {
            let regions = Lexer.regions(of: Array(text[..<end]), language).all
            #expect(regions.allSatisfy { $0.range.upperBound <= end })
            #expect(zip(regions, regions.dropFirst()).allSatisfy { $0.range.upperBound <= $1.range.lowerBound })
        }
    }

    /// The processor time of this thread, so that other tests' work does not count.
    private static func time(_ body: () -> Void) -> Duration {
        func now() -> Duration {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        let start = now()
        body()
        return now() - start
    }

    @Test("A run of hashes without a string takes about as long as other text", arguments: ["", "a"])
    func hashes(end: String) {
        let times = ["#", "x"].map { repeated in
            let text = Array((String(repeating: repeated, count: 1 << 15) + end).utf8)
            return Self.time { #expect(Lexer.regions(of: text, .swift).all.isEmpty) }
        }
        #expect(times[0] < times[1] * 4 + .milliseconds(20))
    }
}
