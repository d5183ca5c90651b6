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

    /// The labels that an audit finds in each file of the set and each entry of its archives, and those that it should find.
    private func results() async throws -> [(found: Set<LabelledFile.Label>, expected: Set<LabelledFile.Label>)] {
        var results: [(found: Set<LabelledFile.Label>, expected: Set<LabelledFile.Label>)] = []
        for file in try LabelledFile.all(in: "languages") + LabelledFile.all(in: "projects") {
            results.append((Set(try await findings(in: file)), Set(file.labels)))
        }
        for document in try LabelledFile.documents(in: "archives") {
            let (name, bytes, files) = try LabelledFile.archive(of: document)
            let report = ArchiveAudit(scanner: .standard).report(on: ArchiveBytes(bytes), path: name)
            #expect(report.notRead.isEmpty, "\(name)")
            let found = Dictionary(grouping: report.findings.map(\.label), by: \.path)
            for file in files {
                results.append((Set(found["\(name)!/\(file.path)"] ?? []), Set(file.labels(in: name))))
            }
        }
        return results
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
        let results = try await results()
        #expect(results.count >= 120)
        var counts: [Severity: Counts] = [:]
        for (found, expected) in results {
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
        #expect(page.contains("has \(results.count) files"))
        for severity in Severity.allCases {
            let count = try #require(counts[severity])
            let figures = [count.precision, count.recall].map { String(format: "%.1f %%", 100 * $0) }
            print("\(severity.rawValue): \(count.expected) expected, precision \(figures[0]), recall \(figures[1])")
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
