import Cryptography
import Testing

@testable import Settings

@Suite("A listener's TLS")
struct ListenerTLSTests {
    private static let files = [
        "/etc/gatehouse/chain.pem": "chain", "/etc/gatehouse/key.pem": "key", "/run/clients.pem": "clients",
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
        #expect(tls.clientAuthorities == Array("clients".utf8))
        #expect(tls.certificates.map(\.chain) == [Array("chain".utf8)])
        #expect(tls.certificates.map { $0.key.exposeText() } == ["key"])
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
        ])
    func faults(tls: String, message: String) throws {
        var sample = Sample()
        sample.listeners = "listeners:\n  - address: 0.0.0.0:8443\n    tls: \(tls)"
        let found = SettingsTests.faults(sample.yaml, files: Self.files)
        #expect(found.count == 1)
        let fault = try #require(found.first)
        #expect(fault.hasPrefix("3:") && fault.contains("listeners[0].tls") && fault.contains(message), "\(fault)")
    }
}
