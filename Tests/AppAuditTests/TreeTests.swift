import Foundation
import Testing

@testable import AppAudit

@Suite("Trees")
struct TreeTests {
    private let call = "_ = try await Amplify.Auth.signOut()\n"

    @Test("Ignored files and build directories are left out, counted, and read if they are asked for")
    func ignored() async throws {
        let tree = try TemporaryTree([
            "App/A.swift": call, "Generated/B.swift": call, "Pods/C.swift": call, ".gitignore": "/Generated\n",
            "App/.gitignore": "D.swift\n", "App/D.swift": call, ".git/E.swift": call,
        ])
        let report = try await Audit().run(tree.url.path)
        #expect(report.findings.map(\.path) == ["App/A.swift"])
        #expect(report.leftOut == 3)
        let all = try await Audit(includesIgnored: true).run(tree.url.path)
        #expect(all.findings.map(\.path) == ["App/A.swift", "App/D.swift", "Generated/B.swift", "Pods/C.swift"])
        #expect(all.leftOut == 0)
    }

    @Test("Links are not followed, so that no path leads out of the tree or around in it")
    func links() async throws {
        let outside = try TemporaryTree(["A.swift": call])
        let tree = try TemporaryTree(["B.swift": "let a = 1\n"])
        let manager = FileManager.default
        try manager.createSymbolicLink(
            at: tree.url.appending(path: "L.swift"), withDestinationURL: outside.url.appending(path: "A.swift"))
        try manager.createSymbolicLink(at: tree.url.appending(path: "out"), withDestinationURL: outside.url)
        try manager.createSymbolicLink(at: tree.url.appending(path: "loop"), withDestinationURL: tree.url)
        let report = try await Audit().run(tree.url.path)
        #expect(report.findings.isEmpty && report.filesRead == 1 && report.notRead.isEmpty)
    }

    @Test("The order of findings does not depend on the number of tasks")
    func order() async throws {
        var files: [String: String] = [:]
        for number in 0..<300 { files["D\(number % 7)/F\(number).swift"] = call + call }
        let tree = try TemporaryTree(files)
        let first = try await Audit(width: 1).run(tree.url.path)
        let second = try await Audit(width: 8).run(tree.url.path)
        #expect(first.findings == second.findings)
        #expect(first.findings.count == 600 && first.filesRead == 300)
        #expect(Set(first.findings.map(\.fingerprint)).count == 600)
    }

    @Test("A file too large, and a damaged property list, are reported as not read")
    func notRead() async throws {
        let tree = try TemporaryTree()
        try tree.write("Info.plist", Data("bplist00 and nothing that follows it in a list".utf8))
        try tree.write("big.swift", Data())
        let handle = try FileHandle(forWritingTo: tree.url.appending(path: "big.swift"))
        try handle.truncate(atOffset: UInt64(ContentReader.maximumBytes + 1))
        try handle.close()
        let report = try await Audit().run(tree.url.path)
        #expect(
            report.notRead == [
                UnreadFile(path: "Info.plist", reason: .damaged), UnreadFile(path: "big.swift", reason: .tooLarge),
            ])
        #expect(!report.isGood(failingOn: .error))
    }

    @Test("A file with too many names to look at is reported, and hides nothing")
    func tooManyNames() async throws {
        let names = String(repeating: "cognito ", count: NeedleSet.maximumHits)
        let tree = try TemporaryTree(["A.swift": names + call])
        let report = try await Audit().run(tree.url.path)
        #expect(report.notRead == [UnreadFile(path: "A.swift", reason: .tooManyNames)])
    }

    @Test("A program whose name has a dot is read")
    func program() async throws {
        let tree = try TemporaryTree()
        let name = "Foo.Bar.framework/Foo.Bar"
        try tree.write(name, Data([0xCF, 0xFA, 0xED, 0xFE, 0] + Array("AWSCognitoIdentityUserPool".utf8)))
        let report = try await Audit().run(tree.url.path)
        #expect(report.findings.map(\.path) == [name])
    }

    @Test("Binary property lists are read")
    func propertyList() async throws {
        let list = ["CognitoUserPoolId": "eu-central-1_AbCdEfGhI", "Name": "Ünïcode"]
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        let tree = try TemporaryTree()
        try tree.write("Info.plist", data)
        let findings = try await Audit().run(tree.url.path).findings
        #expect(Set(findings.map(\.rule)) == [.cognitoPlistKey, .userPoolID])
        #expect(findings.allSatisfy { $0.line == nil })
        for end in 8..<data.count {
            _ = BinaryPropertyList.text(of: Array(data.prefix(end)))
        }
        for place in data.indices {
            var damaged = Array(data)
            damaged[place] ^= 0xFF
            _ = BinaryPropertyList.text(of: damaged)
        }
    }

    @Test("Archives of apps and libraries in a tree are read, and others only if they are named")
    func archives() async throws {
        let tree = try TemporaryTree(["A.swift": call])
        let archive = Data(ZipBuilder(.init("Payload/a.swift", call)).bytes)
        for name in ["app.ipa", "lib.aar", "other.zip"] { try tree.write(name, archive) }
        let report = try await Audit().run(tree.url.path)
        #expect(report.findings.map(\.path) == ["A.swift", "app.ipa!/Payload/a.swift", "lib.aar!/Payload/a.swift"])
        #expect(report.skippedArchives == 1 && report.filesRead == 3 && report.notRead.isEmpty)
        let other = try await Audit().run(tree.url.path + "/other.zip")
        #expect(other.findings.map(\.path) == ["other.zip!/Payload/a.swift"])
        try tree.write("broken.apk", Data("PK".utf8))
        let broken = try await Audit().run(tree.url.path + "/broken.apk")
        #expect(broken.notRead == [UnreadFile(path: "broken.apk", reason: .archive(.notAnArchive))])
        try tree.write("empty.apk", Data(ZipBuilder().bytes))
        await #expect(throws: AuditError.irrelevant) { try await Audit().run(tree.url.path + "/empty.apk") }
        await #expect(throws: AuditError.notFound) { try await Audit().run(tree.url.path + "/missing") }
        let one = try await Audit().run(tree.url.path + "/A.swift")
        #expect(one.findings.map(\.path) == ["A.swift"])
    }

    @Test(
        "A pool's id in the name of Amplify's session, which the app takes over, is no finding",
        arguments: [
            ("amplify.eu-central-1_AbCdEfGhI.session", 0),
            ("amplify.eu-central-1_AbCdEfGhI.eu-central-1:7c9e6679-7425-40de-944b-e07fc1f90ae7.session", 0),
            ("amplify.eu-central-1_AbCdEfGhI.sessions", 1), ("app.eu-central-1_AbCdEfGhI.session", 1),
            ("amplify. eu-central-1_AbCdEfGhI.session", 1), ("eu-central-1_AbCdEfGhI", 1),
            ("eu-central-1:7c9e6679-7425-40de-944b-e07fc1f90ae7", 1),
        ])
    func sessionOfAmplify(name: String, count: Int) async throws {
        let tree = try TemporaryTree(["A.swift": "let account = \"\(name)\"\n"])
        let findings = try await Audit().run(tree.url.path).findings
        #expect(findings.count == count, "\(findings.map(\.name))")
    }

    @Test("A custom domain is found where it is a host")
    func domains() async throws {
        let tree = try TemporaryTree([
            "A.swift": "let a = \"https://auth.example.com/login\"\nlet b = \"xauth.example.com\"\n"
        ])
        let findings = try await Audit(domains: ["auth.example.com"]).run(tree.url.path).findings
        #expect(findings.map(\.rule) == [.customDomain] && findings.map(\.line) == [1])
    }
}
