import Cryptography
import Foundation
import HTTPClient
import Synchronization
import TestSupport
import Testing

@testable import ACME

@Suite("The service of certificates")
struct CertificateServiceTests {
    private static let directory = "https://ca.test/dir"

    @Test("A certificate that the service before a reload has stored meanwhile is not ordered again")
    func replacedService() async throws {
        let path = NSTemporaryDirectory() + "/gatehouse-acme-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = ACMEStateFile(stateDirectory: path)
        let signer = try P256SigningKey.generate()
        let key = try signer.privateKeyPEM()
        let chain = try signer.challengeCertificate(for: "a.test", digest: SHA256.hash([]))
        let now = try #require(ServerCertificate(chain: chain, for: "a.test")).notBefore
        _ = try await file.update { state in
            state.account = ACMEState.Account(directory: Self.directory, key: key, url: nil, contacts: [])
        }
        let fetcher = RecordedFetcher()
        let service = CertificateService(
            CertificateSettings(directory: Self.directory, contacts: [], challenge: .http, names: ["a.test"]),
            storage: file, fetcher: fetcher, logger: CapturedLog().logger, now: { now }, canServe: { _, _ in true },
            publish: { _ in })
        try await service.prepare()
        #expect(service.due() == ["a.test"])
        _ = try await file.update { state in
            state.keep(
                ObtainedCertificate(
                    name: "a.test", directory: Self.directory, chain: chain, key: key, obtainedAt: now))
        }
        await service.look()
        #expect(await fetcher.requests.isEmpty)
        #expect(service.certificates.map(\.obtainedAt) == [now])
        #expect(service.due().isEmpty)
    }

    @Test("While nothing can be stored, the standing says since when, whatever can be read meanwhile")
    func unwritable() async throws {
        let storage = ReadOnlyStorage()
        let start: Int64 = 1_700_000_000
        let time = Mutex(start)
        let service = CertificateService(
            CertificateSettings(directory: Self.directory, contacts: [], challenge: .http, names: ["a.test"]),
            storage: storage, fetcher: RecordedFetcher(), logger: CapturedLog().logger,
            now: { time.withLock { $0 } }, canServe: { _, _ in true }, publish: { _ in })
        try await service.prepare()
        var since: [Int64?] = []
        for _ in 0..<4 {
            await service.look()
            since.append(service.statuses.first?.failingSince)
            #expect(service.statuses.first?.error != nil)
            time.withLock { $0 += 3600 }
        }
        #expect(since == Array(repeating: start, count: 4))
        #expect(storage.tries.withLock { $0 } == 4)
        storage.isWritable.withLock { $0 = true }
        await service.look()
        // The failure that is left is the directory's, which does not answer.
        #expect(service.statuses.first?.failures == 1)
        #expect(service.statuses.first?.failingSince == start + 4 * 3600)
    }

    @Test("A lease that cannot be stored is logged once, and has failed since the first time")
    func noLease() async throws {
        let (storage, log) = (ReadOnlyStorage(), CapturedLog())
        let start: Int64 = 1_700_000_000
        let time = Mutex(start)
        let service = CertificateService(
            CertificateSettings(directory: Self.directory, contacts: [], challenge: .http, names: ["a.test"]),
            storage: storage, fetcher: RecordedFetcher(), logger: log.logger,
            now: { time.withLock { $0 } }, canServe: { _, _ in true }, publish: { _ in })
        try await service.prepare()
        storage.keepsLeases.withLock { $0 = false }
        for _ in 0..<4 {
            await service.look()
            #expect(service.statuses.first?.error != nil)
            #expect(service.statuses.first?.failingSince == start)
            time.withLock { $0 += CertificateService.interval }
        }
        #expect(log.lines.count { $0.contains("the state of certificates cannot be used") } == 1)
        #expect(storage.tries.withLock { $0 } == 0)
        storage.keepsLeases.withLock { $0 = true }
        storage.isWritable.withLock { $0 = true }
        await service.look()
        #expect(service.statuses.first?.failures == 1, "of the directory, which does not answer")
    }

    private static func service(
        _ storage: any ACMEStorage, _ log: CapturedLog, fetcher: any Fetcher = RecordedFetcher(),
        now: @escaping @Sendable () -> Int64
    ) -> CertificateService {
        CertificateService(
            CertificateSettings(directory: directory, contacts: [], challenge: .http, names: ["a.test"]),
            storage: storage, fetcher: fetcher, logger: log.logger, now: now, canServe: { _, _ in true },
            publish: { _ in })
    }

    @Test(
        "An order that is cancelled stores no failure, withdraws its challenge, and is gone on with once finalized",
        arguments: ["new", "challenge", "finalize", "certificate"])
    func cancelled(step: String) async throws {
        try await withDirectory { path in
            let file = ACMEStateFile(stateDirectory: path)
            let now = Int64(Date().timeIntervalSince1970)
            let directory = ScriptedDirectory([step: [.cancels]])
            let service = Self.service(file, CapturedLog(), fetcher: directory) { now }
            try await service.prepare()
            await Task { await service.look() }.value
            #expect(await directory.count(step) == 1)
            let stored = try await file.read()
            #expect(stored.account != nil && stored.failures.isEmpty && stored.pending.isEmpty)
            let isFinalized = ["finalize", "certificate"].contains(step)
            #expect(stored.submittedOrders.count == (isFinalized ? 1 : 0))
            #expect(service.tally.failed == 0)
            await service.look()
            #expect(service.certificates.map(\.name) == ["a.test"], "the next attempt succeeds")
            #expect(await directory.count("new") == (isFinalized ? 1 : 2))
            #expect(try await file.read().submittedOrders.isEmpty)
        }
    }

    @Test("An order whose certificate cannot be used is not gone on with")
    func unusableCertificate() async throws {
        try await withDirectory { path in
            let file = ACMEStateFile(stateDirectory: path)
            let now = Int64(Date().timeIntervalSince1970)
            let service = CertificateService(
                CertificateSettings(directory: Self.directory, contacts: [], challenge: .http, names: ["a.test"]),
                storage: file, fetcher: ScriptedDirectory(), logger: CapturedLog().logger, now: { now },
                canServe: { _, _ in false }, publish: { _ in })
            try await service.prepare()
            await service.look()
            let stored = try await file.read()
            #expect(stored.failures.map(\.name) == ["a.test"] && stored.submittedOrders.isEmpty)
        }
    }

    @Test("A certificate that is not stored any more serves until its end, also after a reload, and is ordered anew")
    func lost() async throws {
        let signer = try P256SigningKey.generate()
        let chain = try signer.challengeCertificate(for: "a.test", digest: SHA256.hash([]))
        let read = try #require(ServerCertificate(chain: chain, for: "a.test"))
        let certificate = ObtainedCertificate(
            name: "a.test", directory: Self.directory, chain: chain, key: try signer.privateKeyPEM(),
            obtainedAt: read.notBefore)
        let (storage, log, time) = (OthersStorage(), CapturedLog(), ManualTime(read.notBefore))
        storage.state.withLock { $0.keep(certificate) }
        let service = Self.service(storage, log) { time.now }
        try await service.prepare()
        #expect(service.due().isEmpty)
        storage.state.withLock { $0 = ACMEState() }
        await service.look()
        #expect(service.certificates == [certificate])
        #expect(service.statuses.first?.expiresAt == read.notAfter)
        #expect(service.due() == ["a.test"])
        let next = Self.service(storage, log) { time.now }
        try await next.prepare(serving: service.certificates)
        #expect(next.certificates == [certificate])
        #expect(next.due() == ["a.test"])
        time.set(read.notAfter)
        for _ in 0..<3 { await service.look() }
        #expect(service.certificates.isEmpty)
        #expect(log.lines.count { $0.contains("neither stored nor served any more") } == 1)
        storage.state.withLock { $0.keep(certificate) }
        await service.look()
        #expect(service.certificates == [certificate], "what is stored is served")
    }

    @Test("An error of the storage is logged again when it is another one")
    func otherError() async throws {
        let (storage, log) = (OthersStorage(), CapturedLog())
        let service = Self.service(storage, log) { 1_700_000_000 }
        try await service.prepare()
        for text in ["damaged", "damaged", "readable for others", "readable for others"] {
            storage.error.withLock { $0 = OthersStorage.Problem(description: text) }
            await service.look()
        }
        let logged = log.lines.filter { $0.contains("the state of certificates cannot be used") }
        #expect(logged.count == 2)
        #expect(logged.last?.contains("readable for others") == true)
        #expect(service.statuses.first?.error == "readable for others")
    }
}

/// A time that only the test sets.
private final class ManualTime: Sendable {
    private let time: Mutex<Int64>

    init(_ time: Int64) { self.time = Mutex(time) }

    var now: Int64 { time.withLock { $0 } }
    func set(_ new: Int64) { time.withLock { $0 = new } }
}

/// A state that others change, of whom one has the lease.
private final class OthersStorage: ACMEStorage {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let isShared = true
    let state = Mutex(ACMEState())
    let error = Mutex<Problem?>(nil)

    func read() async throws -> ACMEState {
        if let error = error.withLock({ $0 }) { throw error }
        return state.withLock { $0 }
    }

    func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState {
        state.withLock { state in
            change(&state)
            return state
        }
    }

    func reseal() async throws {}
    func lease(to holder: String, seconds: Int64) async throws -> Bool { false }
    func endLease(of holder: String) async throws {}
}

/// A state that several gateways share, and that cannot be written at first.
private final class ReadOnlyStorage: ACMEStorage {
    struct Full: Error {}

    /// Also where nothing but a lease is to be stored.
    let keepsLeases = Mutex(true)

    let isShared = true
    let isWritable = Mutex(false)
    let tries = Mutex(0)
    private let state = Mutex(ACMEState())

    func read() async throws -> ACMEState { state.withLock { $0 } }

    func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState {
        tries.withLock { $0 += 1 }
        guard isWritable.withLock({ $0 }) else { throw Full() }
        return state.withLock { state in
            change(&state)
            return state
        }
    }

    func reseal() async throws {}
    func lease(to holder: String, seconds: Int64) async throws -> Bool {
        guard keepsLeases.withLock({ $0 }) else { throw Full() }
        return true
    }
    func endLease(of holder: String) async throws {}
}
