import Foundation
import Testing

@testable import AppAudit

@Suite("Labelled set")
struct LabelledSetTests {
    /// The findings of an audit of one file alone in its tree.
    private func findings(in file: LabelledFile) async throws -> [LabelledFile.Label] {
        let tree = try TemporaryTree([file.path: file.text])
        return try await Audit().run(tree.url.path).findings.map(\.label)
    }

    private struct Counts {
        var found = 0
        var right = 0
        var expected = 0

        var precision: Double { found == 0 ? 1 : Double(right) / Double(found) }
        var recall: Double { expected == 0 ? 1 : Double(right) / Double(expected) }
    }

    private func documentation() throws -> String {
        let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: repository.appending(path: "docs/audit-app.md"), encoding: .utf8)
    }

    @Test("Errors are never wrong, and few are missed")
    func precisionAndRecall() async throws {
        let files = try LabelledFile.all(in: "languages") + LabelledFile.all(in: "projects")
        #expect(files.count >= 100)
        var counts: [Severity: Counts] = [:]
        for file in files {
            let found = Set(try await findings(in: file))
            let expected = Set(file.labels)
            for label in found.subtracting(expected).sorted(by: { "\($0)" < "\($1)" }) { print("wrong: \(label)") }
            for label in expected.subtracting(found).sorted(by: { "\($0)" < "\($1)" }) { print("missed: \(label)") }
            for severity in Severity.allCases {
                counts[severity, default: Counts()].found += found.count { $0.severity == severity }
                counts[severity, default: Counts()].expected += expected.count { $0.severity == severity }
                counts[severity, default: Counts()].right += found.intersection(expected)
                    .count { $0.severity == severity }
            }
        }
        let page = try documentation()
        #expect(page.contains("has \(files.count) files"))
        for severity in Severity.allCases {
            let count = try #require(counts[severity])
            let figures = [count.precision, count.recall].map { String(format: "%.1f %%", 100 * $0) }
            let row = "| \(severity.rawValue) | \(count.expected) | \(figures[0]) | \(figures[1]) |"
            #expect(page.contains(row), "docs/audit-app.md has other figures than \(row)")
        }
        let errors = try #require(counts[.error])
        #expect(errors.expected >= 80)
        #expect(errors.precision == 1)
        #expect(errors.recall >= 0.95)
        let warnings = try #require(counts[.warning])
        #expect(warnings.precision >= 0.95)
        #expect(warnings.recall >= 0.95)
    }

    @Test(
        "All of a project is found",
        arguments: ["amplify-swift", "amplify-android", "identity-js", "amplify-flutter", "url-session"])
    func project(name: String) async throws {
        let document = try #require(
            LabelledFile.documents(in: "projects").first { $0.lastPathComponent == "\(name).txt" })
        let files = try LabelledFile.files(of: document)
        let tree = try TemporaryTree(Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0.text) }))
        let report = try await Audit().run(tree.url.path)
        #expect(Set(report.findings.map(\.label)) == Set(files.flatMap(\.labels)))
        #expect(report.filesRead == files.count)
    }
}
