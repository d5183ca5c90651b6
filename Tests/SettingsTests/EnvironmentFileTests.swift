import SettingsReader
import Testing

@testable import Settings

@Suite("An environment file is read as systemd reads it")
struct EnvironmentFileTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let expected: [String]

        var testDescription: String { text }
    }

    static let cases = [
        Case(text: "A=1\nB=two words \n", expected: ["A=1", "B=two words"]),
        Case(text: "# A=1\n; B=2\n\n  C=3", expected: ["C=3"]),
        Case(
            text: "A='single $HOME \\ \"'\nB=\"double 'x' \\\" \\$ \\n\"",
            expected: [
                "A=single $HOME \\ \"", "B=double 'x' \" $ \\n",
            ]),
        Case(text: "A=one\\\n two\nB=it\\'s\n", expected: ["A=one two", "B=it's"]),
        Case(text: "A=a'b\"c#d\n", expected: ["A=a'b\"c#d"]),
        Case(text: "A= 'x' \nB=\nC=''\n", expected: ["A=x", "B=", "C="]),
        Case(text: "A='one'\"two\"\n", expected: ["A=onetwo"]),
        Case(text: "A=1\r\nB=2\r\n", expected: ["A=1", "B=2"]),
        Case(text: "A='two\nlines'\n", expected: ["A=two\nlines"]),
        Case(text: "KEY=1:AAAA=\nA=1\nA=2", expected: ["KEY=1:AAAA=", "A=1", "A=2"]),
        Case(text: "# a \\comment \\\n\n A=1\n# C:\\\n  ; C:\\\n \t\nB=2\n#\\", expected: ["A=1", "B=2"]),
    ]

    @Test("Names, quotes, escapes, comments", arguments: cases)
    func reads(_ example: Case) throws {
        let variables = try EnvironmentFile.variables(example.text, of: "environment")
        #expect(variables.map { "\($0.name)=\($0.value)" } == example.expected)
    }

    @Test("A line that only some versions of systemd read is a fault")
    func disputed() throws {
        let error = #expect(throws: SettingsErrors.self) {
            try EnvironmentFile.variables("# old: C:\\\n SECRET=hunter2\nB=2\n1=2\n", of: "environment")
        }
        let found = try #require(error).errors
        #expect(found.map(\.line) == [2, 4])
        #expect(found[0].message.contains("254") && !found[0].message.contains("hunter2"), "\(found)")
    }

    @Test("Each line that systemd would pass over is a fault, and none is quoted")
    func errors() throws {
        let text =
            "A='two\nlines'\nno hunter2\n\nexport HUNTER=hunter2\n1A=hunter2\n# no fault\n"
            + "B=4\\\n 5\n=3\r\nhunter2"
        let error = #expect(throws: SettingsErrors.self) {
            try EnvironmentFile.variables(text, of: "environment")
        }
        let found = try #require(error).errors
        #expect(found.map(\.line) == [3, 5, 6, 10, 11])
        #expect(found.map { $0.message.hasPrefix("is not NAME=value") } == [true, false, false, true, true])
        #expect(found.allSatisfy { $0.file == "environment" && !$0.description.lowercased().contains("hunter") })
    }
}
