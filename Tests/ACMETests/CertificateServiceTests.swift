import Cryptography
import Foundation
import HTTPClient
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
            CertificateOrder(directory: Self.directory, contacts: [], challenge: .http, names: ["a.test"]),
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
}
