import Encoding
import Foundation
import Pipeline
import Testing

@testable import Accounts
@testable import Telemetry

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
        #expect(Set(codes) == Set(Reason.codes))
    }

    @Test("What is expected of account calls is of the closed lists")
    func expectedCalls() {
        let expected = AccountTally.Key.expected
        #expect(expected.count == Set(expected).count)
        #expect(Set(expected.map(\.reason)).subtracting(Reason.codes) == [""])
        let operations = Set(CognitoAccounts.operations.map(\.name))
        #expect(Set(expected.filter { $0.result == "success" }.map(\.operation)) == operations)
        #expect(Set(expected.filter { $0.result == "refused" }.map(\.operation)) == operations)
    }
}
