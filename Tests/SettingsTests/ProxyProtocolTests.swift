import Pipeline
import Testing

@testable import Settings

@Suite("A listener's PROXY protocol")
struct ProxyProtocolTests {
    private func yaml(_ section: String) -> String {
        var sample = Sample()
        sample.listeners = "listeners: [{address: '127.0.0.1:8080', proxy_protocol: \(section)}]"
        return sample.yaml
    }

    @Test("It is off by default")
    func off() throws {
        #expect(try load(Sample().yaml).listeners.map(\.proxies) == [[]])
    }

    @Test("Its proxies are addresses and networks")
    func reads() throws {
        let proxies = try load(yaml("{trusted: [10.0.0.0/8, 192.0.2.7, '::1/128', '2001:db8::/32']}")).listeners[0]
            .proxies
        #expect(proxies.map(\.description) == ["10.0.0.0/8", "192.0.2.7/32", "::1/128", "2001:db8::/32"])
    }

    @Test(
        "What is wrong is told",
        arguments: [
            ("{}", "proxy_protocol.trusted: is missing"),
            ("true", "proxy_protocol: must be a section of keys"),
            ("{trusted: []}", "proxy_protocol.trusted: must hold at least one address or network"),
            ("{trusted: 10.0.0.0/8}", "proxy_protocol.trusted: must be a list of"),
            ("{trusted: [proxy.internal]}", "proxy_protocol.trusted[0]: must be an address or a network like"),
            ("{trusted: [10.0.0.0/33]}", "proxy_protocol.trusted[0]: must be an address or a network like"),
            ("{trusted: [10.0.0.1/8]}", "proxy_protocol.trusted[0]: the address has bits behind its prefix"),
            ("{trusted: [10.0.0.0/8, 10.0.0.0/8]}", "proxy_protocol.trusted[1]: is given more than once"),
            ("{trusted: [10.0.0.0/8], version: 2}", "proxy_protocol.version: unknown key"),
        ])
    func faulty(section: String, expected: String) {
        let found = errors(yaml(section))
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains("listeners[0].\(expected)") == true, "\(found)")
    }
}
