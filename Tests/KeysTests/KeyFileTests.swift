import Cryptography
import Foundation
import Logging
import Pipeline
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Key files")
struct KeyFileTests {
    @Test("Keys are made once, for the owner's eyes only, and found again", arguments: KeyPurpose.allCases)
    func madeOnce(purpose: KeyPurpose) async throws {
        try await withDirectory { path in
            let file = KeyRingFile(purpose, stateDirectory: path)
            #expect(try file.read() == nil)
            let made = try await file.readOrMake(now: 5)
            #expect(try FileMode.of(path) == 0o700)
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                #expect(try FileMode.of(path + "/" + name) == 0o600, "\(name)")
            }
            #expect(try file.read() == made)
            #expect(try await KeyRingFile(purpose, stateDirectory: path).readOrMake(now: 6) == made)
        }
    }

    @Test(
        "A file that others may read or change is refused, and told how to mend it",
        arguments: [0o640, 0o604, 0o620, 0o666])
    func othersMayRead(mode: Int) async throws {
        try await withDirectory { path in
            let file = KeyRingFile(.assertion, stateDirectory: path)
            let ring = try await file.readOrMake(now: 5)
            try FileMode.set(mode, file.path)
            let error = #expect(throws: KeyFileError.self) { try file.read() }
            let text = try #require(error).description
            #expect(
                text.contains(file.path) && text.contains("mode \(String(mode, radix: 8))")
                    && text.contains("chmod 600"))
            #expect(throws: KeyFileError.self) { try file.update { _ in } }
            try FileMode.set(0o600, file.path)
            #expect(try file.read() == ring)
        }
    }

    static let damaged = [
        "", "{}", "[]", "null", #"{"purpose":"assertion"}"#, #"{"purpose":"session","keys":[]}"#,
        #"{"purpose":"assertion","keys":[]}"#, #"{"purpose":"assertion","keys":[{"id":"a"}]}"#,
        #"{"purpose":"assertion","keys":[{"id":"a","state":"gone","created_at":1,"since":1,"key":"k"}]}"#,
    ]

    @Test("A damaged file is refused and left as it is: no new keys take the place of known ones", arguments: damaged)
    func damage(contents: String) async throws {
        try await withDirectory { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let file = KeyRingFile(.assertion, stateDirectory: path)
            try Data(contents.utf8).write(to: URL(fileURLWithPath: file.path))
            try FileMode.set(0o600, file.path)
            await #expect(throws: KeyFileError.self) { try await file.readOrMake(now: 5) }
            #expect(FileManager.default.contents(atPath: file.path) == Data(contents.utf8))
        }
    }

    @Test("A change that fails leaves what was there; what a killed process left behind is no hindrance")
    func atomic() async throws {
        struct Failed: Error {}
        try await withDirectory { path in
            let file = KeyRingFile(.assertion, stateDirectory: path)
            let ring = try await file.readOrMake(now: 5)
            #expect(throws: Failed.self) {
                try file.update { ring in
                    ring = nil
                    throw Failed()
                }
            }
            #expect(try file.read() == ring)
            try Data("half a fi".utf8).write(to: URL(fileURLWithPath: file.path + ".new"))
            let rotated = try file.update { ring in
                try ring?.rotate(now: 6, for: .assertion) { try NewKey.make(for: .assertion) }
            }
            #expect(try file.read() == rotated && rotated != ring)
            #expect(try FileMode.of(file.path) == 0o600)
        }
    }

    @Test("Changes from many sides come one after another and none is lost")
    func concurrent() async throws {
        try await withDirectory { path in
            _ = try await KeyRingFile(.sealing, stateDirectory: path).readOrMake(now: 0)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 1...20 {
                    tasks.addTask {
                        _ = try KeyRingFile(.sealing, stateDirectory: path).update { ring in
                            try ring?.rotate(now: Int64(number), for: .sealing) { try NewKey.make(for: .sealing) }
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(try KeyRingFile(.sealing, stateDirectory: path).read()?.keys.count == 21)
        }
    }

    @Test("The one sealing key of earlier versions goes on opening, also after a rotation")
    func earlierSealingKey() async throws {
        try await withDirectory { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let bytes = Data(repeating: 7, count: 32)
            try bytes.write(to: URL(fileURLWithPath: path + "/sealing.key"))
            try FileMode.set(0o600, path + "/sealing.key")
            let before = try await SealingKeys.ring(KeyRingFile(.sealing, stateDirectory: path))
            #expect(FileManager.default.contents(atPath: path + "/sealing.key") == bytes)
            _ = try KeyRingFile(.sealing, stateDirectory: path).update { ring in
                try ring?.rotate(now: 9, for: .sealing) { try NewKey.make(for: .sealing) }
            }
            let after = try await SealingKeys.ring(KeyRingFile(.sealing, stateDirectory: path))
            #expect(try Fixture.fits(before, after))
            #expect(try !Fixture.fits(after, before))
            #expect(!FileManager.default.fileExists(atPath: path + "/sealing.key"))
        }
    }

    // MARK: The service

    static func service(
        _ path: String, _ clock: ManualClock, log: (any LogHandler)? = nil
    ) -> AssertionKeyService {
        AssertionKeyService(
            storage: KeyRingFile(.assertion, stateDirectory: path),
            schedule: RotationSchedule(rotateEvery: 86_400, publishAhead: 3600, keepPrevious: 86_400),
            logger: Logger(label: "test", factory: { _ in log ?? SwiftLogNoOpLogHandler() }), now: { clock.read() },
            publish: {})
    }

    @Test("The service makes keys once, keeps them as they are, and lets the published next one sign when it is time")
    func serviceRotates() async throws {
        try await withDirectory { path in
            let clock = ManualClock()
            var log = WarningLog()
            log.logLevel = .info
            let service = Self.service(path, clock, log: log)
            #expect(service.current == nil)
            try await service.follow()
            let first = try #require(service.current)
            #expect(first.ids.count == 2 && first.ids[0] == first.signing.id)
            try await service.follow()
            #expect(service.current === first)
            #expect(log.warnings == [], "there was none before it")
            clock.advance(86_400)
            try await service.follow()
            #expect(log.warnings == ["another key signs"])
            let second = try #require(service.current)
            // The key that verifiers have been given already.
            #expect(second.signing.id == first.ids[1])
            #expect(second.ids.count == 3 && second.ids.contains(first.signing.id))
            // Another process, or this one after a restart, has the same.
            let other = Self.service(path, clock)
            try await other.follow()
            #expect(other.current?.document == second.document)
        }
    }

    @Test("A rotation by another process is followed; a file that went bad changes nothing")
    func serviceFollows() async throws {
        try await withDirectory { path in
            let clock = ManualClock()
            let service = Self.service(path, clock)
            try await service.follow()
            let first = try #require(service.current)
            let file = KeyRingFile(.assertion, stateDirectory: path)
            _ = try file.update { ring in
                try ring?.rotate(now: clock.read(), for: .assertion) { try NewKey.make(for: .assertion) }
            }
            try await service.follow()
            let second = try #require(service.current)
            #expect(second.signing.id == first.ids[1])
            try FileMode.set(0o644, file.path)
            await #expect(throws: KeyFileError.self) { try await service.follow() }
            #expect(service.current === second)
        }
    }

    @Test("A file that was taken away is written again with the keys that verifiers know")
    func serviceRestores() async throws {
        try await withDirectory { path in
            let clock = ManualClock()
            let service = Self.service(path, clock)
            try await service.follow()
            let first = try #require(service.current)
            try FileManager.default.removeItem(atPath: path + "/assertion-keys.json")
            try await service.follow()
            #expect(service.current === first)
            let other = Self.service(path, clock)
            try await other.follow()
            #expect(other.current?.document == first.document)
        }
    }

    @Test("A key under another key's name is not published")
    func wrongName() async throws {
        try await withDirectory { path in
            let key = try NewKey.make(for: .assertion)
            let file = KeyRingFile(.assertion, stateDirectory: path)
            _ = try file.update { $0 = KeyRing(first: NewKey(id: "other", material: key.material), now: 1) }
            await #expect(throws: CryptographyError.self) { try await Self.service(path, ManualClock()).follow() }
        }
    }
}
