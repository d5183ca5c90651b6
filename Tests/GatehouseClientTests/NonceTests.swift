import Foundation
import GatehouseClientTesting
import Testing

@testable import GatehouseClient

@Suite("The nonce of Sign in with Apple")
struct NonceTests {
    @Test(
        "The hash is the lowercase hexadecimal SHA-256 of the raw nonce",
        arguments: [
            // FIPS 180-4's examples (NIST, SHA256.pdf), and the empty text.
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func hashed(raw: String, hash: String) { #expect(AppleNonce(raw: raw).hashed == hash) }

    @Test("A button shows the gateway's nonce again after a cancelled dialogue, and not after its use or its end")
    func button() {
        let own = AppleNonce(raw: "the app's")
        var prepared = AppleNonce(raw: "the gateway's")
        prepared.endsAt = 300
        var nonces = ButtonNonces()
        #expect(nonces.next(or: own, at: 0) == own)
        nonces.prepared = prepared
        #expect(nonces.next(or: own, at: 0) == prepared)
        #expect(nonces.next(or: own, at: 299) == prepared)
        #expect(nonces.use() == prepared)
        #expect(nonces.use() == nil)
        #expect(nonces.next(or: own, at: 299) == own)
        nonces.prepared = prepared
        #expect(nonces.next(or: own, at: 300) == own)
    }

    @Test("A nonce that the button gets while a dialogue is shown stays for the next one")
    func preparedMeanwhile() {
        let nonces = ["first", "second"].map(AppleNonce.init(raw:))
        var button = ButtonNonces()
        button.prepared = nonces[0]
        #expect(button.next(or: AppleNonce(raw: "own"), at: 0) == nonces[0])
        button.prepared = nonces[1]
        #expect(button.use() == nonces[0])
        #expect(button.next(or: AppleNonce(raw: "own"), at: 0) == nonces[1])
    }

    @Test("The gateway's nonce ends when the response says")
    func end() async throws {
        let scene = Scene()
        let nonce = try await scene.client().appleNonceFromGateway()
        #expect(nonce.endsAt == scene.clock.uptime + 300)
    }
}
