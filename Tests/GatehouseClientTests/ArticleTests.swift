import Foundation
import Testing

@Suite("The articles about the client")
struct ArticleTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let catalogue = tests.appendingPathComponent(
        "../../Sources/GatehouseClient/GatehouseClient.docc", isDirectory: true)

    /// Code without its indentation, which articles and the snippets' functions each have their own of.
    private static func lines(_ code: some StringProtocol) -> String {
        code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
    }

    /// The blocks of code that follow a heading in bold.
    private static func blocks(_ heading: String, in article: String) -> [String] {
        article.components(separatedBy: "**\(heading)**").dropFirst().map { text in
            lines(
                text.components(separatedBy: "```swift\n").dropFirst().first?.components(separatedBy: "```").first ?? ""
            )
        }
    }

    private static func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

    @Test(
        "Each “after” is compiled, and stands beside a “before”",
        arguments: ["MovingFromAmplify", "MovingFromCognito", "MovingFromUserDefaults"])
    func after(_ name: String) throws {
        let snippets = Self.lines(try Self.text(Self.tests.appendingPathComponent("ArticleSnippets.swift")))
        let article = try Self.text(Self.catalogue.appendingPathComponent("\(name).md"))
        let blocks = Self.blocks("After", in: article)
        #expect(blocks.count >= 3)
        for block in blocks {
            #expect(!block.isEmpty)
            #expect(snippets.contains(block), "ArticleSnippets.swift has no \(block)")
        }
        let before = Self.blocks("Before", in: article)
        #expect(before.count == blocks.count)
        let all = article.components(separatedBy: "```swift\n").dropFirst().map {
            Self.lines($0.components(separatedBy: "```")[0])
        }
        for block in all where !before.contains(block) {
            #expect(snippets.contains(block), "ArticleSnippets.swift has no \(block)")
        }
        #expect(!before.contains(""))
    }

    @Test("The front page names every article, and its code is compiled")
    func frontPage() throws {
        let page = try Self.text(Self.catalogue.appendingPathComponent("GatehouseClient.md"))
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.catalogue.path)
        for name in files where name != "GatehouseClient.md" {
            #expect(page.contains("<doc:\(name.dropLast(".md".count))>"))
        }
        let snippets = Self.lines(try Self.text(Self.tests.appendingPathComponent("ArticleSnippets.swift")))
        let code = try #require(page.components(separatedBy: "```swift\n").dropFirst().first)
        let start = try #require(code.range(of: "func start"))
        let function = code[start.lowerBound...].components(separatedBy: "```")[0]
        #expect(snippets.contains(Self.lines(function)))
    }
}
