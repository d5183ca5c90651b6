import SettingsReader
import Testing

@testable import Settings

@Suite("The admin listener as its own machine reaches it")
struct AdminEndpointTests {
    private static let files = [
        "/etc/gatehouse/admin.pem": PEM.certificate, "/run/other.pem": PEM.certificate,
        "/etc/gatehouse/cut.pem": PEM.cutOff,
    ]

    private func endpoint(_ text: String) throws(SettingsErrors) -> AdminEndpoint {
        let path = "/etc/gatehouse/gatehouse.yaml"
        let files = Files(contents: Self.files.merging([path: text]) { $1 })
        return try AdminEndpoint.read(path: path, environment: ["HOST": "127.0.0.2"]) {
            (path) throws(FileReadFailure) in
            try files.read(path)
        }
    }

    @Test(
        "Without TLS it is the address, whatever else the file says",
        arguments: [
            ("{}", "127.0.0.1:9901"), ("admin: {}", "127.0.0.1:9901"), ("admin: {token: short}", "127.0.0.1:9901"),
            ("admin: {address: '0.0.0.0:1234', may: 7}", "0.0.0.0:1234"),
            ("nonsense: true\nadmin: {address: '${HOST}:80', token: '${MISSING}'}", "127.0.0.2:80"),
        ])
    func plain(text: String, address: String) throws {
        let endpoint = try endpoint(text)
        #expect("\(endpoint.address)" == address)
        #expect(endpoint.chains == nil)
    }

    @Test("With TLS the certificates are read, and no key")
    func certificates() throws {
        let text = """
            admin:
              token: ${MISSING}
              tls:
                minimum_version: "9"
                client_ca: nowhere.pem
                certificates:
                  - {certificate: admin.pem, key: nowhere.key}
                  - {key: "${MISSING}", certificate: /run/other.pem}
            """
        let certificate = Array(PEM.certificate.utf8)
        #expect(try endpoint(text).chains == [certificate, certificate])
    }

    @Test(
        "Faults of the address and the certificates are told with their key",
        arguments: [
            ("admin: {address: nowhere}", "admin.address", false),
            ("admin: [", "", false),
            ("admin: {tls: 7}", "admin.tls", true),
            ("admin: {tls: {}}", "admin.tls.certificates", true),
            ("admin: {tls: {certificates: {}}}", "admin.tls.certificates", true),
            ("admin: {tls: {certificates: [7]}}", "admin.tls.certificates[0]", true),
            ("admin: {tls: {certificates: [{}]}}", "admin.tls.certificates[0].certificate", true),
            ("admin: {tls: {certificates: [{certificate: no.pem}]}}", "admin.tls.certificates[0].certificate", true),
            ("admin: {tls: {certificates: [{certificate: cut.pem}]}}", "admin.tls.certificates[0].certificate", true),
        ])
    func faults(text: String, key: String, concernTLS: Bool) throws {
        let errors = try #require(throws: SettingsErrors.self) { try endpoint(text) }
        #expect(errors.errors.map(\.keyPath) == [key])
        #expect(errors.concernAdminTLS == concernTLS)
    }
}

@Suite("TLS of the admin listener")
struct AdminTLSTests {
    private static let files = ["/etc/gatehouse/admin.pem": PEM.certificate, "/etc/gatehouse/admin.key": PEM.key]
    private static let certificates = "certificates: [{certificate: admin.pem, key: admin.key}]"

    private func settings(_ admin: String) throws -> GatewaySettings {
        try load(Sample(more: "admin: {token: token-of-everything, \(admin)}").yaml, files: Self.files)
    }

    @Test("It has the keys of a listener's, and speaks HTTP/1.1 only")
    func reads() throws {
        let admin = try settings("tls: {\(Self.certificates), minimum_version: '1.3', client_ca: admin.pem}").admin
        let tls = try #require(admin.listen.tls)
        #expect(tls.certificates.map(\.chain) == [Array(PEM.certificate.utf8)])
        #expect(tls.minimumVersion == .tls13)
        #expect(tls.clientAuthorities == Array(PEM.certificate.utf8))
        #expect(!admin.listen.http2)
        #expect(try settings("").admin.listen.tls == nil)
    }

    @Test("A certificate and its key are replaced together")
    func together() throws {
        let groups = try settings("tls: {\(Self.certificates)}").files.groups
        #expect(groups.map(\.paths) == [["/etc/gatehouse/admin.pem", "/etc/gatehouse/admin.key"]])
    }

    @Test("No certificate of a directory is obtained for it")
    func noACME() {
        let found = errors(
            Sample(more: "admin: {tls: {\(Self.certificates), acme: {names: [a.test]}}}").yaml, files: Self.files)
        #expect(found.count == 1 && found.first?.contains("admin.tls.acme: unknown key") == true, "\(found)")
    }

    @Test(
        "A listener of the network without TLS is warned of",
        arguments: [
            ("address: '0.0.0.0:9901'", true), ("address: '[::]:9901'", true), ("address: 'api.test:9901'", true),
            ("address: '127.0.0.1:9901'", false), ("address: '[::1]:9901'", false),
            ("address: '0.0.0.0:9901', tls: {\(certificates)}", false),
        ])
    func warning(admin: String, isExpected: Bool) throws {
        let warnings = try settings(admin).warnings
        #expect(warnings.map(\.kind) == (isExpected ? [.plainAdmin] : []))
        #expect(warnings.allSatisfy { $0.keyPath == "admin.address" })
    }
}
