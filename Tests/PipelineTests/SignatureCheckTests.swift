import Cryptography
import Encoding
import Testing

@testable import Pipeline

@Suite("Signatures alone")
struct SignatureCheckTests {
    /// RFC 8037, A.4: neither the key nor the signature names a key.
    static let edDSA =
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhij"
        + "cNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    static let key = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    static let secret = #"{"kty":"oct","kid":"s","alg":"HS256","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}"#
    static let shortSecret = #"{"kty":"oct","kid":"s","alg":"HS256","k":"AAAA"}"#

    static func keySet(_ keys: String..., origin: KeySet.Origin = .own) throws -> KeySet {
        try KeySet(
            jwks: Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8),
            algorithms: SignatureAlgorithm.allCases, origin: origin, generation: 1)
    }

    @Test("A key without a name is for what names none, in a file of one's own")
    func nameless() throws {
        let check = SignatureCheck(keySet: try Self.keySet(Self.key), algorithms: [.edDSA])
        let signed = try check.verify(Array(Self.edDSA.utf8))
        #expect(signed.payload == Array("Example of Ed25519 signing".utf8) && signed.keyID == "")
        #expect(throws: RejectReason.algorithmNotAllowed) {
            try SignatureCheck(keySet: try Self.keySet(Self.key), algorithms: [.rs256])
                .verify(Array(Self.edDSA.utf8))
        }
        #expect(try Self.keySet(Self.key, origin: .published).isEmpty)
        #expect(throws: RejectReason.keyIDInvalid) {
            try SignatureCheck(keySet: try Self.keySet(Self.secret), algorithms: SignatureAlgorithm.allCases)
                .verify(Array(Self.edDSA.utf8))
        }
    }

    @Test("A secret counts in a file of one's own only, and when it is long enough")
    func secrets() throws {
        #expect(try Self.keySet(Self.secret).keyIDs == ["s"])
        #expect(try Self.keySet(Self.secret, origin: .published).dropped == ["keys[0]: kty is oct, a secret"])
        #expect(try Self.keySet(Self.shortSecret).dropped == ["keys[0]: secret below 256 bits"])
    }

    @Test("Of two keys with one name neither is meant, also when one is of no use, unless that is for encryption")
    func repeated() throws {
        #expect(try Self.keySet(Self.secret, Self.shortSecret).isEmpty)
        #expect(try Self.keySet(Self.key, Self.key).isEmpty)
        #expect(try Self.keySet(Self.secret, #"{"kty":"RSA","kid":"s","use":"enc"}"#).keyIDs == ["s"])
    }

    @Test("What is only looked at needs no signature, and is not taken for more than it is")
    func unverified() throws {
        let token = try #require(UnverifiedToken(Array("eyJhbGciOiJub25lIn0.eyJhIjoxfQ.".utf8)))
        #expect(token.header == ["alg": "none"] && token.payload == ["a": 1])
        #expect(try #require(UnverifiedToken(Array(Self.edDSA.utf8))).payload == nil)
        for text in ["", "x", "eyJhbGciOiJub25lIn0", "e30.e30.e30.e30", "e30=.e30.", "bm8.e30."] {
            #expect(UnverifiedToken(Array(text.utf8)) == nil, "\(text)")
        }
    }
}
