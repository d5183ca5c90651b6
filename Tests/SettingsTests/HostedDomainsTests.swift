import Settings
import SettingsReader
import Testing

@Suite("Hosted domains of a settings file")
struct HostedDomainsTests {
    private func domains(_ text: String) throws(SettingsErrors) -> [String] {
        try GatewaySettings.hostedDomains(path: "gatehouse.yaml", environment: ["DOMAIN": "https://env.example.com"]) {
            (_) throws(FileReadFailure) in Array(text.utf8)
        }
    }

    @Test("All pools' domains and the listed ones are found, whatever else the file says")
    func all() throws {
        let text = """
            direct_cognito: {mode: translate, hosted_domains: [Login.example.com]}
            sign_in:
              cognito: {client_secret: "${MISSING}", hosted: {domain: "${DOMAIN}", public_url: 7}}
              more_pools: [{client_id: a}, {hosted: {domain: "https://drivers.example.com:8443"}}]
            nonsense: true
            """
        #expect(try domains(text) == ["login.example.com", "env.example.com", "drivers.example.com"])
    }

    @Test(
        "A file without domains has none",
        arguments: ["{}", "direct_cognito: block", "sign_in: {apple: {}}", "sign_in: {cognito: {hosted: {}}}"])
    func none(text: String) throws {
        #expect(try domains(text) == [])
    }

    @Test(
        "A domain that cannot be read is an error with its key",
        arguments: [
            ("direct_cognito: {hosted_domains: [a]}", "direct_cognito.hosted_domains[0]"),
            ("sign_in: {cognito: {hosted: {domain: 'no url'}}}", "sign_in.cognito.hosted.domain"),
            ("sign_in: {cognito: {hosted: {domain: '${MISSING}'}}}", "sign_in.cognito.hosted.domain"),
        ])
    func errors(text: String, key: String) throws {
        let errors = try #require(throws: SettingsErrors.self) { try domains(text) }
        #expect(errors.errors.map(\.keyPath) == [key])
    }
}
