import Cryptography
import Encoding
import Logging
import Pipeline
import Sealing
import TestSupport
import Testing

@testable import Keys
@testable import Store

@Suite("Keys of sessions")
struct SessionKeyServiceTests {
    let clock = ManualClock()

    @Test("However many keys the ring has, the tokens of each verify")
    func manyKeys() async throws {
        let hour: Int64 = 3600
        let sealing = SealingKeyRing(
            sealing: try SealingKey(id: "one", Secret([UInt8](repeating: 1, count: 32))))
        let keys = AssertionKeyService(
            storage: SharedKeyRing(.session, MemoryKeyRings(), sealedWith: sealing),
            schedule: RotationSchedule(rotateEvery: hour, publishAhead: hour, keepPrevious: hour * 100),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            now: { [clock] in clock.read() }, publish: {})
        try await keys.follow()
        let service = SessionKeyService(keys)
        let first = try #require(service.signing)
        let token = try first.token(of: ["sub": "ada"], type: "session+jwt")
        for _ in 0..<70 {
            clock.advance(hour)
            try await keys.follow()
        }
        let set = try #require(service.keySet)
        // Those that have signed, the one that signs and the next.
        #expect(set.count == 72 && service.signing?.id != first.id)
        let signed = try SignatureCheck(keySet: set, algorithms: [.es256]).verify(Array(token.utf8))
        #expect(signed.keyID == first.id)
    }
}
