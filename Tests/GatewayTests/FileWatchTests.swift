import Cryptography
import Foundation
import SettingsReader
import TestSupport
import Testing

@testable import Gateway
@testable import Settings

@Suite("Following files")
struct FileWatchTests {
    static let environment = ["TOKEN": "the-environment's-admin-token"]

    static func settings(_ files: [String: String], _ yaml: String) throws -> GatewaySettings {
        try GatewaySettings.load(path: "/etc/settings.yaml", environment: environment) {
            (path) throws(FileReadFailure) in
            let text = path == "/etc/settings.yaml" ? base + yaml : files[path]
            guard let text else { throw .notFound }
            return Array(text.utf8)
        }
    }

    static let base = """
        listeners: [{address: '127.0.0.1:8080'}]
        upstreams: {api: {url: 'http://127.0.0.1:8000'}}
        routes: [{path: /a, upstream: api, access: public}]

        """

    static let webhook = "audit: {webhook: {url: 'https://events.example/', secret: 'file:hook'}}\n"
    static let hook = "a-secret-of-some-length-for-the-webhook"

    // MARK: Groups of files

    @Test("Settings know the files that they were read from, by the sections that name them")
    func groups() throws {
        let settings = try Self.settings(
            ["/etc/token": "an-admin-token-of-some-length", "/etc/hook": Self.hook],
            "admin: {token: 'file:token'}\n" + Self.webhook)
        #expect(Set(settings.files.contents.keys) == ["/etc/settings.yaml", "/etc/token", "/etc/hook"])
        let groups = settings.files.groups
        #expect(groups.map(\.paths).contains(["/etc/token"]) && groups.map(\.paths).contains(["/etc/hook"]))
        #expect(Set(groups.map(\.keys)) == [["admin.token"], ["audit.webhook.secret"]])
    }

    @Test("A file that two sections name holds their files together")
    func merged() throws {
        let settings = try Self.settings(
            ["/etc/hook": Self.hook], "admin: {token: 'file:hook'}\n" + Self.webhook)
        #expect(settings.files.groups.map(\.paths) == [["/etc/hook"]])
        #expect(Set(settings.files.groups[0].keys) == ["admin.token", "audit.webhook.secret"])
    }

    // MARK: Other contents

    @Test("Other contents replace only theirs: settings, environment and other files stay as they were read")
    func reread() throws {
        let settings = try Self.settings(["/etc/hook": Self.hook], "admin: {token: '${TOKEN}'}\n" + Self.webhook)
        let other = "another-secret-of-some-length-for-the-hook"
        let next = try settings.reread(
            environment: Self.environment, with: ["/etc/hook": .success(Secret(other + "\n"))])
        #expect(next.digest == settings.digest)
        #expect(next.admin.tokens.first?.secret.exposeText() == Self.environment["TOKEN"])
        #expect(next.audit.webhook?.secret?.exposeText() == other)
        let again = try next.reread(environment: Self.environment, with: [:])
        #expect(again.audit.webhook?.secret?.exposeText() == other)
    }

    @Test("Contents that cannot be used, or cannot be read, are errors of the key that names the file")
    func faulty() throws {
        let settings = try Self.settings(["/etc/hook": Self.hook], Self.webhook)
        for contents in [.success(Secret("")), .failure(.notFound)] as [Result<Secret, FileReadFailure>] {
            let errors = #expect(throws: SettingsErrors.self) {
                try settings.reread(environment: Self.environment, with: ["/etc/hook": contents])
            }
            #expect(errors?.errors.map(\.keyPath) == ["audit.webhook.secret"])
        }
    }

    // MARK: Due files

    static func version(_ number: Int64) -> FileVersion {
        .present(device: 1, inode: 1, size: number, modified: [], changed: [])
    }

    @Test("A group is due when it has come to rest as another one, and then not again")
    func due() throws {
        let groups = try Self.settings(
            ["/etc/token": "an-admin-token-of-some-length", "/etc/hook": Self.hook],
            "admin: {token: 'file:token'}\n" + Self.webhook
        ).files.groups
        var watch = FileWatch()
        func look(_ token: FileVersion, _ hook: FileVersion) -> [Set<String>] {
            watch.due(groups) { $0 == "/etc/token" ? token : hook }.map(\.paths)
        }
        let (one, two, three) = (Self.version(1), Self.version(2), Self.version(3))
        #expect(look(one, one).isEmpty)
        #expect(Set(look(one, one)) == [["/etc/token"], ["/etc/hook"]])
        #expect(look(one, one).isEmpty)
        #expect(look(two, one).isEmpty)
        // Still being written.
        #expect(look(three, one).isEmpty)
        #expect(look(three, .absent) == [["/etc/token"]])
        #expect(look(three, .absent) == [["/etc/hook"]])
        #expect(look(three, .absent).isEmpty)
        if let group = groups.first(where: { $0.paths == ["/etc/token"] }) { watch.forget(group) }
        #expect(look(three, .absent) == [["/etc/token"]])
    }

    @Test("A file has another version after each change, though its size and its times may be the same")
    func versions() async throws {
        try await withDirectory { directory in
            let files = FileManager.default
            let (path, other) = (directory + "/file", directory + "/other")
            #expect(FileVersion(of: path) == .absent)
            try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
            #expect(files.createFile(atPath: path, contents: Data("one".utf8)))
            let first = FileVersion(of: path)
            #expect(first == FileVersion(of: path) && first != .absent)
            #expect(files.createFile(atPath: other, contents: Data("two".utf8)))
            let times = try files.attributesOfItem(atPath: path)
            try files.removeItem(atPath: path)
            try files.moveItem(atPath: other, toPath: path)
            try files.setAttributes([.modificationDate: times[.modificationDate] as Any], ofItemAtPath: path)
            #expect(first != FileVersion(of: path))
        }
    }

    // MARK: Reports

    @Test("A group that is kept out is reported at the second look, once, until it is let in")
    func keptOut() throws {
        let groups = try Self.settings(["/etc/hook": Self.hook], Self.webhook).files.groups
        var kept = RejectedFiles()
        kept.keepOut(groups[0], ["a fault"])
        #expect(kept.endLook().isEmpty && kept.reported == 0)
        let news = kept.endLook()
        #expect(news.map(\.keys) == [["audit.webhook.secret"]] && news.map(\.errors) == [["a fault"]])
        #expect(kept.reported == 1)
        kept.keepOut(groups[0], ["a fault"])
        #expect(kept.endLook().isEmpty && kept.reported == 1)
        kept.keepOut(groups[0], ["another fault"])
        #expect(kept.endLook().isEmpty && kept.endLook().map(\.errors) == [["another fault"]])
        kept.letIn(groups[0])
        #expect(kept.endLook().isEmpty && kept.reported == 0)
    }
}
