import Cryptography
import Encoding
import Logging
import Sealing
import TestSupport
import Testing

@testable import Accounts
@testable import HTTPClient
@testable import Sessions
@testable import Store

@Suite("Consents are taken back at Apple")
struct AppleRevocationTests {
    static let revocation = AppleRevocation(userID: "u-1", clientID: "com.example.app", sealed: Array("sealed".utf8))

    static func receiver(_ fetcher: any Fetcher, _ ring: SealingKeyRing) throws -> AppleRevocationReceiver {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let client = AppleClient(
            endpoint: "https://apple.test",
            secret: AppleClientSecret(teamID: "T", keyID: "K", key: try P256SigningKey.generate()), fetcher: fetcher,
            now: { 1_700_000_000 })
        return AppleRevocationReceiver(
            timeout: .seconds(5), revoker: AppleRevoker(client: client, sealingKeys: ring, logger: logger))
    }

    static func ring() throws -> SealingKeyRing {
        try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 1, count: 32))))
    }

    @Test("A message holds nothing that anyone but the gateway can read, and what it needs")
    func message() {
        let message = AppleRevocationReceiver.message(Self.revocation, key: "k-1", now: 5)
        #expect(message.destination == "apple" && message.key == "k-1" && message.subject == "u-1")
        #expect(AppleRevocation(text: message.body) == Self.revocation)
    }

    @Test("One that cannot be read stays, and one whose token opens no more is done")
    func unreadable() async throws {
        let fetcher = ScriptedReceiver()
        let receiver = try Self.receiver(fetcher, Self.ring())
        var message = AppleRevocationReceiver.message(Self.revocation, key: "k-1", now: 5)
        try await receiver.send(message)
        message.body = "{}"
        let unreadable = message
        await #expect(throws: DeliveryFailure.refused("unreadable-message")) {
            try await receiver.send(unreadable)
        }
        #expect(fetcher.requests.isEmpty)
    }

    @Test("The outbox keeps one until Apple is there, or the settings name Apple again")
    func outbox() async throws {
        let clock = MillisecondClock()
        let records = StoredOutbox(try Store(path: ":memory:", migrations: StoredOutbox.migrations))
        let outbox = Outbox(
            records: records, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { clock.now },
            random: { 0 })
        let message = AppleRevocationReceiver.message(Self.revocation, key: "k-1", now: clock.now)
        #expect(try await records.add(message))
        await outbox.sendDue()
        #expect(try await records.count() == 1)
        outbox.adopt([try Self.receiver(ScriptedReceiver(), Self.ring())])
        clock.advance(3_600_000)
        await outbox.sendDue()
        #expect(try await records.count() == 0)
    }
}
