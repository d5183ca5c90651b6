import Foundation
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("State directory")
struct StateDirectoryTests {
    @Test("A directory is made for its owner only, and those above it are nobody else's to change")
    func making() async throws {
        try await withDirectory { path in
            let directory = StateDirectory(path: path + "/a/b/state")
            try directory.make()
            #expect(try FileMode.of(directory.path) == 0o700)
            #expect(try (FileMode.of(path + "/a/b") ?? 0o777) & 0o022 == 0)
            try directory.make()
            try Data().write(to: URL(fileURLWithPath: path + "/file"))
            let error = #expect(throws: KeyFileError.self) { try StateDirectory(path: path + "/file").make() }
            #expect(error?.description == "\(path)/file: cannot be made: it is a file")
        }
    }

    static let directoryModes: [(Int, Bool)] = [
        (0o700, true), (0o750, true), (0o755, true), (0o711, true), (0o720, false), (0o702, false), (0o777, false),
    ]

    @Test("A directory that others may write to is refused", arguments: directoryModes)
    func directories(mode: Int, isGood: Bool) async throws {
        try await withDirectory { path in
            let directory = StateDirectory(path: path)
            try directory.make()
            try FileMode.set(mode, path)
            let checked = Result { () throws(KeyFileError) in try directory.check() }
            let made = Result { () throws(KeyFileError) in try directory.make() }
            #expect(((try? checked.get()) != nil) == isGood)
            #expect(((try? made.get()) != nil) == isGood)
        }
    }

    static let fileCases: [(String, Int, Bool)] = [
        ("gatehouse.sqlite", 0o600, true), ("gatehouse.sqlite", 0o640, false), ("gatehouse.sqlite-wal", 0o604, false),
        ("gatehouse.sqlite.replaced-1", 0o644, false), ("gatehouse.sqlite-shm", 0o660, false),
        ("sealing.key", 0o644, false),
        ("session-keys.json", 0o644, false), ("session-keys.json.new", 0o620, false),
        ("session-keys.json", 0o400, true),
        ("key-set-a.json", 0o644, true), ("key-set-a.json", 0o664, false), ("key-set-a.json", 0o602, false),
        ("notes", 0o666, true),
    ]

    @Test(
        "A file of the gateway's that others may change is refused, and a secret one that they may read",
        arguments: fileCases)
    func files(name: String, mode: Int, isGood: Bool) async throws {
        try await withDirectory { path in
            try StateDirectory(path: path).make()
            let file = path + "/" + name
            try Data().write(to: URL(fileURLWithPath: file))
            try FileMode.set(mode, file)
            if isGood {
                try StateDirectory(path: path).check()
            } else {
                let error = #expect(throws: KeyFileError.self) { try StateDirectory(path: path).check() }
                #expect(error?.description.contains("\(file): others than its owner may ") == true)
                #expect(error?.description.contains("mode \(String(mode, radix: 8))") == true)
            }
        }
    }

    @Test("A directory that is not there is good, and a kept key set that others may change is not read")
    func keySets() async throws {
        try StateDirectory(path: NSTemporaryDirectory() + UUID().uuidString).check()
        try await withDirectory { path in
            let file = KeySetFile(directory: path, issuer: KeySetFixture.issuer("pool"))
            try file.write(try KeySetFixture.document("key-1"), fetchedAt: 1)
            #expect(try file.read()?.fetchedAt == 1)
            #expect(try FileMode.of(path + "/key-set-pool.json") == 0o600)
            try FileMode.set(0o646, path + "/key-set-pool.json")
            #expect(throws: KeyFileError.self) { try file.read() }
        }
    }
}
