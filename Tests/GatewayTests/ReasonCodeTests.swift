import Encoding
import Foundation
import SignIn
import Telemetry
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

    /// The sources that give reasons, by their paths.
    static func sources() throws -> [String: String] {
        var sources: [String: String] = [:]
        for folder in ["Sources/Pipeline", "Sources/Gateway", "Sources/Listener", "Sources/SignIn", "Sources/HTTP1"] {
            let files = try #require(FileManager.default.enumerator(atPath: root.appending(path: folder).path))
            for case let file as String in files where file.hasSuffix(".swift") {
                let path = "\(folder)/\(file)"
                sources[path] = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            }
        }
        return sources
    }

    @Test("Whatever the code gives as a reason is in the list, and so a label of its own in the metrics")
    func listed() throws {
        let literal = #/\breason(?: =|:) "([a-z0-9-]+)"/#
        let found = Set(try Self.sources().values.flatMap { $0.matches(of: literal).map { String($0.1) } })
        #expect(found.subtracting(GatewayMetrics.reasons).isEmpty, "\(found.subtracting(GatewayMetrics.reasons))")
        #expect(found.count > 15)
    }

    @Test("Whatever is in the list is given by code other than the audit log's, so that no metric stays 0 for ever")
    func given() throws {
        let list = "Sources/Gateway/Admin/GatewayMetrics.swift"
        var sources = try Self.sources()
        let listed = try #require(sources[list])
        sources[list] = nil
        sources["Sources/Gateway/Conduct/AuditEvent+Calls.swift"] = nil
        for match in listed.matches(of: #/"([a-z0-9]+(?:-[a-z0-9]+)+)"/#) {
            let isGiven = sources.values.contains { $0.contains(match.output.0) }
            #expect(isGiven, "nothing gives \(match.output.1)")
        }
    }

    @Test("What is expected of account calls is of the closed lists")
    func expectedCalls() {
        let expected = AccountTally.Key.expected
        #expect(expected.count == Set(expected).count)
        #expect(Set(expected.map(\.reason)).subtracting(GatewayMetrics.reasons) == [""])
        let operations = Set(AccountOperation.allCases.map(\.rawValue))
        #expect(Set(expected.filter { $0.result == "success" }.map(\.operation)) == operations)
        #expect(Set(expected.filter { $0.result == "refused" }.map(\.operation)) == operations)
    }
}
