import Cryptography
import TestSupport
import Testing

@testable import Sealing
@testable import Sessions

@Suite("Nonces of the gateway's")
struct AppleNonceTests {
    @Test("One opens as what it was, with its own keys and for its own issuer only")
    func roundTrip() throws {
        let keys = try Fixture.ring()
        let nonce = AppleNonce(expiresAt: 5, random: [UInt8](repeating: 3, count: 16))
        let text = try nonce.sealed(with: keys, issuer: "one")
        #expect(try AppleNonce(opening: text, with: keys, issuer: "one") == nonce)
        #expect(throws: InvalidSealedToken.self) { try AppleNonce(opening: text, with: keys, issuer: "other") }
        let others = try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        #expect(throws: InvalidSealedToken.self) { try AppleNonce(opening: text, with: others, issuer: "one") }
        #expect(throws: InvalidSealedToken.self) {
            try AppleNonce(opening: Secret(AppleFixture.nonce), with: keys, issuer: "one")
        }
        let other = AppleNonce(expiresAt: 5, random: [UInt8](repeating: 4, count: 16))
        #expect(other.digest != nonce.digest)
        // It goes through Apple and back as it is, within what the body takes.
        #expect(text.exposeText().utf8.count < 200)
    }
}
