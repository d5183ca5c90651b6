import Cryptography
import Encoding
import Pipeline
import TestSupport
import Testing

@testable import Accounts
@testable import Sealing

@Suite("Sealed refresh tokens")
struct SealedRefreshTokenTests {
    @Test("What is sealed opens as it was")
    func roundTrip() throws {
        for device in ["device-1", "", nil] {
            var token = Fixture.sealed
            token.deviceID = device
            token.deviceKey = device.map { "key of \($0)" }
            token.originID = device.map { "origin of \($0)" }
            token.generation = 7
            let opened = try open(Fixture.sealedText(token))
            #expect(opened.clientID == token.clientID)
            #expect(opened.username == token.username)
            #expect(opened.refreshToken.exposeText() == "provider-refresh-token")
            #expect(opened.deviceID == device)
            #expect(opened.deviceKey == token.deviceKey)
            #expect(opened.subject == token.subject)
            #expect(opened.originID == token.originID)
            #expect(opened.generation == 7)
            #expect(opened.family == token.family)
            #expect(opened.issuedAt == token.issuedAt)
            #expect(opened.expiresAt == token.expiresAt)
        }
    }

    @Test("The text form names version and key, and shows nothing of its content")
    func form() throws {
        let text = try Fixture.sealedText().exposeText()
        let parts = text.split(separator: ".")
        #expect(parts.count == 3)
        #expect(parts[0] == "v2")
        #expect(parts[1].count == 16 && parts[1].allSatisfy(\.isHexDigit))
        let box = try #require(Base64URL.decode(parts[2].utf8))
        for plain in ["provider-refresh-token", Fixture.username] {
            #expect(!String(decoding: box, as: UTF8.self).contains(plain))
        }
        #expect(try Fixture.sealedText().exposeText() != text, "each sealing has its own nonce")
    }

    @Test("A change to any byte of the text is refused")
    func everyByte() throws {
        let text = try Fixture.sealedText().expose()
        for position in text.indices {
            for bit in 0..<8 {
                var changed = text
                changed[position] ^= 1 << UInt8(bit)
                #expect(throws: InvalidSealedToken(), "byte \(position), bit \(bit)") { try open(Secret(changed)) }
            }
        }
    }

    @Test("A change to any bit of the sealed bytes is refused")
    func everySealedBit() throws {
        let parts = try Fixture.sealedText().exposeText().split(separator: ".")
        let box = try #require(Base64URL.decode(parts[2].utf8))
        for bit in 0..<(box.count * 8) {
            var changed = box
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let text = "v2.\(parts[1]).\(Base64URL.encode(changed))"
            #expect(throws: InvalidSealedToken(), "bit \(bit)") { try open(Secret(text)) }
        }
    }

    @Test(
        "Other texts are refused",
        arguments: [
            "", ".", "..", "v2..", "v2.0000000000000000.AAAA", "v1.x.y", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln",
            "provider-refresh-token", String(repeating: "a", count: 9000),
        ])
    func otherTexts(_ text: String) {
        #expect(throws: InvalidSealedToken()) { try open(Secret(text)) }
    }

    @Test("Text before, behind or missing is refused")
    func cutAndPadded() throws {
        let text = try Fixture.sealedText().exposeText()
        for changed in [" " + text, text + " ", text + ".", text + "=", String(text.dropLast()), text + "A"] {
            #expect(throws: InvalidSealedToken()) { try open(Secret(changed)) }
        }
    }

    @Test("Another pool's token is refused even under the same key")
    func otherPool() throws {
        let text = try Fixture.sealed.sealed(with: Fixture.ring(), poolID: "eu-west-1_Other")
        #expect(throws: InvalidSealedToken()) { try open(text) }
    }

    @Test("After a rotation the old key opens, the new one seals, and a removed one does neither")
    func rotation() throws {
        let old = try SealingKey(Secret([UInt8](repeating: 1, count: 32)))
        let new = try SealingKey(Secret([UInt8](repeating: 2, count: 32)))
        let before = try Fixture.sealed.sealed(with: SealingKeyRing(sealing: old), poolID: Fixture.poolID)
        let both = SealingKeyRing(sealing: new, opening: [old])
        #expect(throws: Never.self) {
            try SealedRefreshToken(opening: before, with: both, poolID: Fixture.poolID)
        }
        let after = try Fixture.sealed.sealed(with: both, poolID: Fixture.poolID)
        #expect(after.exposeText().hasPrefix("v2.\(new.id)."))
        #expect(throws: InvalidSealedToken()) {
            try SealedRefreshToken(
                opening: before, with: SealingKeyRing(sealing: new), poolID: Fixture.poolID)
        }
    }

    @Test("A key goes by the id it was given, and one that would break the text form is refused")
    func identifiers() throws {
        let secret = Secret([UInt8](repeating: 1, count: 32))
        let ring = SealingKeyRing(sealing: try SealingKey(id: "2026-a_1", secret))
        let text = try Fixture.sealed.sealed(with: ring, poolID: Fixture.poolID)
        #expect(text.exposeText().hasPrefix("v2.2026-a_1."))
        #expect(try SealedRefreshToken(opening: text, with: ring, poolID: Fixture.poolID).deviceID == "device-1")
        for id in ["", "a.b", "a b", "ä", String(repeating: "k", count: 33)] {
            #expect(throws: SealingKeyError.identifier, "\(id)") { try SealingKey(id: id, secret) }
        }
        for count in [0, 16, 31, 33] {
            #expect(throws: SealingKeyError.length) { try SealingKey(Secret([UInt8](repeating: 1, count: count))) }
        }
    }

    @Test("A text that could not be opened again is not sealed")
    func tooLong() {
        for length in [7000, 70_000] {
            var token = Fixture.sealed
            token.refreshToken = Secret([UInt8](repeating: 65, count: length))
            #expect(throws: SealingFailure()) { try Fixture.sealedText(token) }
        }
    }

    @Test("A token ends at its expiry, not after it")
    func expiry() {
        #expect(!Fixture.sealed.hasExpired(at: Fixture.now + 999))
        #expect(Fixture.sealed.hasExpired(at: Fixture.now + 1000))
    }

    @Test("Printing a token shows no secret")
    func redacted() {
        var printed = "\(Fixture.sealed)"
        dump(Fixture.sealed, to: &printed)
        #expect(!printed.contains("provider-refresh-token"))
    }

    private func open(_ text: Secret) throws -> SealedRefreshToken {
        try SealedRefreshToken(opening: text, with: Fixture.ring(), poolID: Fixture.poolID)
    }
}
