import Foundation
import Testing

@testable import Gateway

@Suite("Reason codes of requests")
struct ReasonCodeTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The codes in the tables of README's sections with these titles.
    static func documented(_ titles: String...) throws -> [String] {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        return try titles.flatMap { title in
            let start = try #require(readme.range(of: "## \(title)\n"))
            let rows = readme[start.upperBound...].components(separatedBy: "\n## ")[0].split(separator: "\n")
                .filter { $0.hasPrefix("| ") }
            return rows.flatMap { row in
                row.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
            }
        }
    }

    @Test("README lists every reason that log and metrics can have, and no other")
    func documented() throws {
        let codes = try Self.documented("Why a token is refused", "Why a request is refused otherwise")
        #expect(codes.count == Set(codes).count)
        #expect(Set(codes) == Set(GatewayMetrics.reasons))
    }

    @Test("Whatever the code gives as a reason is in the list, and so a label of its own in the metrics")
    func listed() throws {
        let literal = #/\breason(?: =|:) "([a-z0-9-]+)"/#
        var found: Set<String> = []
        for folder in ["Sources/Pipeline", "Sources/Gateway", "Sources/Listener", "Sources/SignIn"] {
            let files = try #require(FileManager.default.enumerator(atPath: Self.root.appending(path: folder).path))
            for case let file as String in files where file.hasSuffix(".swift") {
                let source = try String(contentsOf: Self.root.appending(path: "\(folder)/\(file)"), encoding: .utf8)
                for match in source.matches(of: literal) { found.insert(String(match.1)) }
            }
        }
        #expect(found.subtracting(GatewayMetrics.reasons).isEmpty, "\(found.subtracting(GatewayMetrics.reasons))")
        #expect(found.count > 15)
    }
}
