import Encoding
import Foundation
import Testing

@testable import AppAudit

@Suite("Reports")
struct ReportTests {
    private func report(_ text: String) async throws -> AuditReport {
        let tree = try TemporaryTree(["A b/ü.swift": text])
        return try await Audit().run(tree.url.path)
    }

    @Test("A fingerprint stays the same while lines around it change, and differs between equal lines")
    func fingerprints() async throws {
        let line = "Amplify.Auth.signOut()\n"
        let first = try await report(line).findings.map(\.fingerprint)
        let moved = try await report("import Foundation\n\n  " + line).findings.map(\.fingerprint)
        #expect(first == moved && first.count == 1)
        let twice = try await report(line + line).findings.map(\.fingerprint)
        #expect(twice.first == first.first && Set(twice).count == 2)
    }

    @Test("A baseline takes its own findings away and no other")
    func baseline() async throws {
        let line = "Amplify.Auth.signOut()\n"
        let known = try Baseline(Baseline.text(of: try await report(line)).encoded())
        var later = try await report(line + "Amplify.Auth.deleteUser()\n")
        later.apply(known)
        #expect(later.findings.map(\.name) == ["Amplify.Auth.deleteUser"])
        #expect(later.known.map(\.name) == ["Amplify.Auth.signOut"])
        #expect(!later.isGood(failingOn: .error))
    }

    @Test("Baselines and reports of JSON are no files of the app, wherever they are")
    func ownDocuments() async throws {
        let found = try await report("let pool = \"eu-central-1_AbCdEfGhI\"\n")
        #expect(found.findings.map(\.rule) == [.userPoolID])
        let baseline = Baseline.text(of: found)
        let tree = try TemporaryTree()
        try tree.write("known.json", Data(baseline.encoded()))
        try tree.write("Reports/audit.json", Data(found.json(path: ".", failingOn: .error).encoded()))
        let audited = try await Audit().run(tree.url.path)
        #expect(audited.findings.isEmpty && audited.filesRead == 0)
        // Another program's findings are configuration of the app.
        let other = String(decoding: baseline.encoded(), as: UTF8.self).replacing("fingerprint", with: "id")
        try tree.write("other.json", Data(other.utf8))
        #expect(try await Audit().run(tree.url.path).findings.map(\.path) == ["other.json"])
    }

    @Test(
        "A file that is no baseline is refused",
        arguments: ["", "[]", "{}", #"{"version": 1}"#, #"{"version": 1, "findings": [{}]}"#])
    func malformed(text: String) {
        #expect(throws: Baseline.Failure.malformed) { try Baseline(Array(text.utf8)) }
    }

    @Test("A baseline of another version is refused")
    func otherVersion() {
        #expect(throws: Baseline.Failure.otherVersion) { try Baseline(Array(#"{"version": 2, "findings": []}"#.utf8)) }
    }

    @Test("The URIs of SARIF are relative and escaped")
    func uris() async throws {
        let sarif = try await report("Amplify.Auth.signOut()\n").sarif(version: "1.0.0")
        let text = String(decoding: sarif.encoded(), as: UTF8.self)
        #expect(text.contains(#""uri":"A%20b/%C3%BC.swift""#))
    }

    @Test("No finding contains a secret's value")
    func secrets() async throws {
        let secret = "1k2j3h4g5f6d7s8a9p0o1i2u3y4t5r6e7w8q9z0x1c2v3b4n5m6"
        let found = try await report("let clientSecret = \"\(secret)\"\n")
        #expect(found.findings.map(\.rule) == [.clientSecret])
        let texts = [
            found.sarif(version: "1").encoded(), found.json(path: "a", failingOn: .error).encoded(),
            Baseline.text(of: found).encoded(),
        ]
        #expect(texts.allSatisfy { !String(decoding: $0, as: UTF8.self).contains(secret) })
    }
}
