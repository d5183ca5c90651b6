import Cryptography
import Encoding
import Foundation
import TestSupport
import Testing

/// OpenSSL's command judges requests and certificates.
@Suite("Requests for certificates, and certificates that answer challenges")
struct CertificateRequestTests {
    private static func openssl(_ arguments: String..., input: [UInt8]) throws -> String {
        let (status, text) = try ChildProcess.run(["/usr/bin/openssl"] + arguments, input: input, keepsErrors: true)
        #expect(status == 0, "\(text)")
        return text
    }

    @Test("A request is signed by its key, for the one name")
    func request() throws {
        let request = try P256SigningKey.generate().certificateRequest(for: "api.example.com")
        let text = try Self.openssl("req", "-inform", "DER", "-noout", "-verify", "-text", input: request)
        #expect(text.contains("verify OK") && text.contains("DNS:api.example.com") && text.contains("prime256v1"))
        #expect(text.components(separatedBy: "DNS:").count == 2)
    }

    @Test("A challenge's certificate has the digest in a critical extension (RFC 8737, 3)")
    func challenge() throws {
        let key = try P256SigningKey.generate()
        let digest = SHA256.hash(Array("token.thumbprint".utf8))
        let certificate = try key.challengeCertificate(for: "api.example.com", digest: digest)
        let text = try Self.openssl("x509", "-noout", "-text", input: certificate)
        #expect(text.contains("DNS:api.example.com") && text.contains("1.3.6.1.5.5.7.1.31: critical"))
        let parsed = try Self.openssl("asn1parse", "-inform", "PEM", input: certificate)
        #expect(parsed.contains("0420" + Hexadecimal.encode(digest).uppercased()))
        #expect(PEMFile.isKey(try key.privateKeyPEM(), of: certificate) == true)
        let read = try #require(ServerCertificate(chain: certificate, for: "api.example.com"))
        #expect(read.isForName && read.chainLength == 1 && read.notBefore < read.notAfter)
        #expect(ServerCertificate(chain: certificate, for: "other.example.com")?.isForName == false)
        #expect(ServerCertificate(chain: Array("x".utf8), for: "api.example.com") == nil)
    }

    @Test("A common name alone makes no certificate one for a name (RFC 9525, 2)")
    func commonName() throws {
        let text = try Self.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null",
            "-subj", "/CN=api.example.com", "-days", "2", input: [])
        let read = try #require(ServerCertificate(chain: Array(text.utf8), for: "api.example.com"))
        #expect(!read.isForName)
    }
}
