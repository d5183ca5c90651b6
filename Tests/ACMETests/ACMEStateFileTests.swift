import Foundation
import TestSupport
import Testing

@testable import ACME

@Suite("The file of the state")
struct ACMEStateFileTests {
    /// A failure that takes a little more than a mebibyte.
    private static func failure(_ number: Int) -> ACMEState.Failure {
        ACMEState.Failure(
            name: "\(number).test", count: 1, nextAt: 0, lastAt: 0, since: 0, storedAt: 0,
            error: String(repeating: "x", count: 1 << 20))
    }

    @Test("A large state is read back, and one that is too large is not written")
    func sizes() async throws {
        let directory = NSTemporaryDirectory() + "/gatehouse-acme-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let file = ACMEStateFile(stateDirectory: directory)
        let stored = try await file.update { state in
            for number in 0..<3 { state.keep(Self.failure(number)) }
        }
        #expect(stored.failures.count == 3)
        #expect(try await file.read() == stored)
        await #expect(throws: (any Error).self) {
            _ = try await file.update { state in
                for number in 0..<16 { state.keep(Self.failure(number)) }
            }
        }
        #expect(try await file.read() == stored)
    }

    @Test("The right to order is there only where the state can be written")
    func lease() async throws {
        let directory = NSTemporaryDirectory() + "/gatehouse-acme-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let file = ACMEStateFile(stateDirectory: directory)
        let stored = try await file.update { $0.keep(Self.failure(1)) }
        #expect(try await file.lease(to: "me", seconds: 60))
        #expect(try await file.read() == stored)
        try FileManager.default.removeItem(atPath: directory)
        #expect(FileManager.default.createFile(atPath: directory, contents: nil))
        await #expect(throws: (any Error).self) { try await file.lease(to: "me", seconds: 60) }
    }

    @Test("One of several gateways has the turn to order, until it gives it back or ends")
    func turns() async throws {
        try await withDirectory { directory in
            let one = ACMEStateFile(stateDirectory: directory)
            #expect(try await one.lease(to: "one", seconds: 60))
            #expect(try await one.lease(to: "one", seconds: 60), "it renews it")
            do {
                let other = ACMEStateFile(stateDirectory: directory)
                #expect(try await !other.lease(to: "other", seconds: 60))
                try await one.endLease(of: "one")
                #expect(try await other.lease(to: "other", seconds: 60))
                #expect(try await !one.lease(to: "one", seconds: 60))
                withExtendedLifetime(other) {}
            }
            #expect(try await one.lease(to: "one", seconds: 60))
            for lock in ["acme.json.lock", "acme.json.orders.lock"] {
                #expect(try FileMode.of("\(directory)/\(lock)") == 0o600, "\(lock)")
            }
        }
    }

    @Test("A gateway that has read the state knows whether others have, for as long as they run")
    func others() async throws {
        try await withDirectory { directory in
            let one = ACMEStateFile(stateDirectory: directory)
            _ = try await one.read()
            #expect(!one.isShared)
            do {
                let other = ACMEStateFile(stateDirectory: directory)
                _ = try await other.read()
                #expect(one.isShared)
                #expect(other.isShared)
                #expect(one.isShared, "to have asked changes nothing")
                withExtendedLifetime(other) {}
            }
            #expect(!one.isShared)
            #expect(try FileMode.of("\(directory)/acme.json.gateways.lock") == 0o600)
        }
    }
}
