import Pipeline
import Testing

@testable import Settings

@Suite("A listener for decisions")
struct ExternalAuthorizationSettingsTests {
    private func yaml(_ keys: String) -> String {
        var sample = Sample()
        sample.listeners = "listeners: [{address: '127.0.0.1:8080', \(keys)}]"
        return sample.yaml
    }

    @Test("Listeners serve by default")
    func off() throws {
        #expect(try load(Sample().yaml).listeners.allSatisfy { $0.authorization == nil })
    }

    @Test("It names a proxy and who may ask", arguments: ExternalAuthorization.Proxy.allCases)
    func reads(proxy: ExternalAuthorization.Proxy) throws {
        let text = yaml("external_authorization: {proxy: \(proxy.rawValue), trusted: [10.0.0.0/8, '::1']}")
        let authorization = try #require(try load(text).listeners[0].authorization)
        #expect(authorization.proxy == proxy)
        #expect(authorization.trusted.map(\.description) == ["10.0.0.0/8", "::1/128"])
    }

    @Test(
        "What is wrong is told",
        arguments: [
            ("external_authorization: {proxy: nginx}", "external_authorization.trusted: is missing"),
            ("external_authorization: {trusted: [10.0.0.1]}", "external_authorization.proxy: is missing"),
            (
                "external_authorization: {proxy: haproxy, trusted: [10.0.0.1]}",
                "external_authorization.proxy: must be one of"
            ),
            (
                "external_authorization: {proxy: envoy, trusted: []}",
                "external_authorization.trusted: must hold at least one address or network"
            ),
            (
                "external_authorization: {proxy: envoy, trusted: [10.0.0.1], path_prefix: /x}",
                "external_authorization.path_prefix: unknown key"
            ),
            ("external_authorization: true", "external_authorization: must be a section of keys"),
            (
                "redirect_to_https: 443, external_authorization: {proxy: nginx, trusted: [10.0.0.1]}",
                "redirect_to_https: has no effect with external_authorization"
            ),
            (
                "server_names: [a.test], external_authorization: {proxy: nginx, trusted: [10.0.0.1]}",
                "server_names: has no effect with external_authorization"
            ),
            (
                "proxy_protocol: {trusted: [10.0.0.1]}, external_authorization: {proxy: nginx, trusted: [10.0.0.1]}",
                "proxy_protocol: has no effect with external_authorization"
            ),
        ])
    func faulty(keys: String, expected: String) {
        let found = errors(yaml(keys))
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains("listeners[0].\(expected)") == true, "\(found)")
    }
}
