import Foundation
import Pipeline
import Testing

@Suite("Reason codes")
struct RejectReasonTests {
    @Test("README lists every reason code and no other")
    func documented() throws {
        let readme = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "README.md")
        let text = try String(contentsOf: readme, encoding: .utf8)
        let start = try #require(text.range(of: "## Why a token is refused"))
        let rows = text[start.upperBound...].components(separatedBy: "\n## ")[0].split(separator: "\n")
            .filter { $0.hasPrefix("| ") && $0.contains("`") }
        let codes = rows.flatMap { row in
            row.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
        #expect(codes.count == Set(codes).count)
        #expect(Set(codes) == Set(RejectReason.allCases.map(\.rawValue)))
    }
}
