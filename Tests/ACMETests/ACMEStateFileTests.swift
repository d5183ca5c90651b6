import Foundation
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
}
