import ACME
import Cryptography
import Encoding
import Listener
import SettingsReader
import Testing

@testable import Gateway
@testable import Settings

@Suite("The certificates of a listener")
struct ListenerCertificatesTests {
    private static let yaml = """
        listeners:
          - address: '127.0.0.1:80'
          - {address: '127.0.0.1:443', tls: {acme: {names: [b.test, a.test]}}}
          - {address: '127.0.0.1:444', tls: {acme: {names: [a.test, c.test, b.test]}}}
        acme: {directory: 'https://ca.test/dir', accept_terms: true}
        admin: {address: '127.0.0.1:0'}
        upstreams: {api: {url: 'http://127.0.0.1:1'}}
        issuers: {own: {profile: oidc, issuer: 'https://id.example', audiences: [api], secret: '${SECRET}'}}
        routes: [{path: /a, upstream: api}]
        """

    @Test("Each listener has the obtained ones in the order of its own names, of which the first is the default")
    func order() throws {
        let environment = ["SECRET": "0123456789abcdef0123456789abcdef"]
        let settings = try GatewaySettings.load(path: "/settings.yaml", environment: environment) {
            (path) throws(FileReadFailure) in
            guard path == "/settings.yaml" else { throw .notFound }
            return Array(Self.yaml.utf8)
        }
        let obtained = ["b.test", "a.test"].map { name in
            ObtainedCertificate(
                name: name, directory: "https://ca.test/dir", chain: Array(name.utf8), key: Secret("key"),
                obtainedAt: 0)
        }
        let names = settings.listeners.map { listener in
            Wiring.parameters(listener, obtained)?.certificates.map { String(decoding: $0.chain, as: UTF8.self) }
        }
        #expect(names == [nil, ["b.test", "a.test"], ["a.test", "b.test"]])
        let wins = settings.listeners.compactMap { Wiring.parameters($0, obtained) }.flatMap(\.certificates)
        #expect(wins.compactMap(\.obtainedFor?.text) == ["b.test", "a.test", "a.test", "b.test"])
    }
}
