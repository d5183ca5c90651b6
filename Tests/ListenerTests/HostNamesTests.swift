import Testing

@testable import Listener

@Suite("Server names")
struct HostNamesTests {
    static let names = HostNames(["api.example.com", "*.apps.example.com", "192.0.2.7", "2001:db8::7", "localhost"])

    @Test(
        "A host of the list is served in every spelling, on every port",
        arguments: [
            "api.example.com", "API.Example.COM", "api.example.com:8443", "api.example.com.", "api.example.com.:443",
            "api.example.com:", "a.apps.example.com", "A-1.APPS.example.com:1", "192.0.2.7", "192.0.2.7:80",
            "[2001:db8::7]", "[2001:DB8:0::7]:443", "localhost:8080",
        ])
    func served(authority: String) { #expect(Self.names.contains(authority)) }

    @Test(
        "Any other host is not",
        arguments: [
            "", "example.com", "xapi.example.com", "api.example.com.evil.test", "apps.example.com", ".apps.example.com",
            "a.b.apps.example.com", "192.0.2.8", "[2001:db8::8]", "[::ffff:192.0.2.8]", "localhost.evil.test", ".",
            ":80",
            "api.example.co", "*.apps.example.com.evil.test",
        ])
    func others(authority: String) { #expect(!Self.names.contains(authority)) }
}
