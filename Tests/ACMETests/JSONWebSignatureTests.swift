import Cryptography
import Encoding
import Pipeline
import Testing

@testable import ACME

@Suite("Signatures of requests")
struct JSONWebSignatureTests {
    /// The key of RFC 7515, A.3, as PKCS #8.
    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
        H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
        7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
        -----END PRIVATE KEY-----

        """

    @Test("A key authorization ends in the thumbprint that another implementation has computed (RFC 7638)")
    func keyAuthorization() throws {
        let key = try P256SigningKey(pem: Secret(Self.pem))
        #expect(
            JSONWebSignature.keyAuthorization("token", key) == "token.oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U")
    }

    @Test("The flattened form holds header, payload and a signature over both", arguments: ["", #"{"a":1}"#])
    func form(payload: String) throws {
        let key = try P256SigningKey.generate()
        let signed = try JSONWebSignature.sign(
            Array(payload.utf8), protected: ["alg": "ES256", "nonce": "n", "url": "https://a.test/x"], with: key)
        let json = try JSON.parse(signed)
        let header = try #require(json["protected"]?.stringValue)
        let body = try #require(json["payload"]?.stringValue)
        let signature = try #require(json["signature"]?.stringValue.flatMap { Base64URL.decode($0.utf8) })
        #expect(try JSON.parse(#require(Base64URL.decode(header.utf8)))["url"] == "https://a.test/x")
        #expect(Base64URL.decode(body.utf8) == Array(payload.utf8))
        #expect(signature.count == 64)
        #expect(
            try key.verificationKey().verify(
                signature: signature, of: Array("\(header).\(body)".utf8), algorithm: .es256))
    }
}
