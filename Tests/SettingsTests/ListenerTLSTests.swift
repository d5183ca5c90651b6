import Cryptography
import Encoding
import SettingsReader
import Testing

@testable import Settings

@Suite("A listener's TLS")
struct ListenerTLSTests {
    private static let files = [
        "/etc/gatehouse/chain.pem": PEM.certificate, "/etc/gatehouse/key.pem": PEM.key,
        "/run/clients.pem": PEM.certificate, "/etc/gatehouse/other.pem": PEM.otherKey, "/etc/gatehouse/empty.pem": "",
        "/etc/gatehouse/cut.pem": PEM.cutOff, "/etc/gatehouse/keys.json": "{",
    ]

    @Test("Its files are read relative to the settings, and its key prints nowhere")
    func reads() throws {
        var sample = Sample()
        sample.listeners = """
            listeners:
              - address: 0.0.0.0:8443
                http2: false
                tls:
                  certificates: [{certificate: chain.pem, key: key.pem}]
                  minimum_version: "1.3"
                  client_ca: /run/clients.pem
            """
        let listener = try #require(try load(sample.yaml, files: Self.files).listeners.first)
        let tls = try #require(listener.tls)
        #expect(!listener.http2)
        #expect(tls.minimumVersion == .tls13)
        #expect(tls.clientAuthorities == Array(PEM.certificate.utf8))
        #expect(tls.certificates.map(\.chain) == [Array(PEM.certificate.utf8)])
        #expect(tls.certificates.map { $0.key.exposeText() } == [PEM.key])
        #expect(String(reflecting: tls.certificates[0].key) == "<redacted>")
    }

    @Test(
        "What is wrong is told with its line",
        arguments: [
            ("{}", "is missing"),
            ("{certificates: []}", "must hold at least one certificate"),
            ("{certificates: [{key: key.pem}]}", "is missing"),
            ("{certificates: [{certificate: chain.pem, key: nowhere.pem}]}", "there is no such file"),
            ("{certificates: [{certificate: chain.pem, key: key.pem}], client_ca: nowhere.pem}", "no such file"),
            ("{certificates: [{certificate: chain.pem, key: key.pem}], minimum_version: '1.1'}", "must be"),
            ("{certificates: [{certificate: chain.pem, key: key.pem, password: x}]}", "unknown key"),
            ("{certificates: [{certificate: empty.pem, key: key.pem}]}", "holds no certificate in PEM"),
            ("{certificates: [{certificate: cut.pem, key: key.pem}]}", "a certificate in the file is cut off"),
            ("{certificates: [{certificate: chain.pem, key: chain.pem}]}", "holds no private key in PEM"),
            ("{certificates: [{certificate: chain.pem, key: other.pem}]}", "the key is not the certificate's"),
            ("{certificates: [{certificate: chain.pem, key: key.pem}], client_ca: empty.pem}", "no certificate in PEM"),
            ("{certificates: [{certificate: chain.pem, key: key.pem}], client_ca: cut.pem}", "is cut off"),
        ])
    func errors(tls: String, message: String) throws {
        var sample = Sample()
        sample.listeners = "listeners:\n  - address: 0.0.0.0:8443\n    tls: \(tls)"
        let found = SettingsTests.errors(sample.yaml, files: Self.files)
        #expect(found.count == 1)
        let error = try #require(found.first)
        #expect(error.hasPrefix("3:") && error.contains("listeners[0].tls") && error.contains(message), "\(error)")
    }

    @Test("What is wrong with the files of all listeners and upstreams is told together with all else")
    func together() {
        var sample = Sample()
        sample.listeners = """
            threads: many
            listeners:
              - address: 0.0.0.0:8443
                tls:
                  client_ca: empty.pem
                  certificates:
                    - {certificate: empty.pem, key: empty.pem}
                    - {certificate: chain.pem, key: other.pem}
              - address: 0.0.0.0:9443
                tls:
                  certificates: [{certificate: cut.pem, key: key.pem}]
            """
        sample.upstreams = """
            upstreams:
              api:
                url: https://127.0.0.1
                tls: {ca: cut.pem, certificate: chain.pem, key: empty.pem}
            """
        sample.issuers = "issuers: {users: {user_pool_id: us-east-1_P, client_ids: [c], jwks_file: keys.json}}"
        let found = SettingsTests.errors(sample.yaml, files: Self.files).compactMap {
            $0.split(separator: " ").dropFirst().first.map(String.init)
        }
        #expect(
            found == [
                "threads:", "listeners[0].tls.client_ca:", "listeners[0].tls.certificates[0].certificate:",
                "listeners[0].tls.certificates[0].key:", "listeners[0].tls.certificates[1].key:",
                "listeners[1].tls.certificates[0].certificate:", "upstreams.api.tls.ca:", "upstreams.api.tls.key:",
                "issuers.users.jwks_file:",
            ])
    }
}
