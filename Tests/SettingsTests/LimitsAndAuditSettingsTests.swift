import Pipeline
import SettingsReader
import Testing

@testable import Settings

@Suite("Limits, audit and user sync in the settings")
struct LimitsAndAuditSettingsTests {
    private func load(_ more: String) throws -> GatewaySettings {
        var sample = Sample()
        sample.more = more
        return try SettingsTests.load(sample.yaml)
    }

    @Test("Rates are so many within a time, or unlimited; what is not said is the default")
    func rates() throws {
        let limits = try load(
            """
            account_limits:
              sign_in: {address: 5/90s, account: unlimited}
              lockout: off
            """
        ).accountLimits
        #expect(limits[.signIn].address == RateLimit(5, per: 90))
        #expect(limits[.signIn].account == nil)
        #expect(limits[.signIn].global == RateLimit(6000, per: 60))
        #expect(limits[.codes].account == RateLimit(10, per: 600))
        #expect(limits.lockout == nil)
        #expect(try load("").accountLimits.lockout?.after == 5)
    }

    @Test("A lock's longest is never shorter than its first unless it is said so")
    func lockout() throws {
        let lockout = try #require(try load("account_limits: {lockout: {first: 1h, after: 200}}").accountLimits.lockout)
        #expect(lockout.longest == 3600)
        #expect(lockout.most == 200)
    }

    @Test("The audit log is standard output, a file beside the settings, or none")
    func audit() throws {
        #expect(try load("").audit.log == .standardOutput)
        #expect(try load("audit: {log: 'off'}").audit.log == .off)
        #expect(try load("audit: {log: audit.log}").audit.log == .file("/etc/gatehouse/audit.log"))
        let webhook = try #require(
            try load("audit: {webhook: {url: https://siem.example/x, events: [locked_out]}}").audit.webhook)
        #expect(webhook.events == [.lockedOut])
        #expect(webhook.secret == nil)
        #expect(
            try load("audit: {webhook: {url: https://siem.example/x}}").audit.webhook?.events
                == AuditEventKind.allCases)
    }

    @Test("A backend is told everything, in the background, for its own URL unless it is said otherwise")
    func userSync() throws {
        let signed = "identity: {assertion: {issuer: i}}\n"
        #expect(try load(signed).userSync == nil)
        let sync = try #require(try load(signed + "user_sync: {url: https://api.internal/u}").userSync)
        #expect(sync.events == UserSyncEvent.allCases)
        #expect(sync.mode == .background)
        #expect(sync.audience == "https://api.internal/u")
    }

    @Test("Trusted proxies are addresses and networks")
    func proxies() throws {
        #expect(try load("trusted_proxies: [10.0.0.0/8, '2001:db8::1']").trustedProxies.count == 2)
        #expect(try load("").trustedProxies.isEmpty)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var yaml: String
        var expected: String
        var testDescription: String { yaml }

        init(_ yaml: String, _ expected: String) {
            self.yaml = yaml
            self.expected = expected
        }
    }

    @Test(
        "Each fault is told with its key and line",
        arguments: [
            Case("account_limits: {sign_in: {address: 60}}", "account_limits.sign_in.address: must be a rate like"),
            Case(
                "account_limits: {sign_in: {address: 60/min}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, per 1s to 1d, or unlimited (got "
                    + "\"60/min\"; did you mean \"60/1m\"?)"),
            Case(
                "account_limits: {sign_in: {address: 5 per hour}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, or unlimited (got \"5 per hour\"; did "
                    + "you mean \"5/1h\"?)"),
            Case(
                "account_limits: {sign_in: {address: 10r/s}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, or unlimited (got \"10r/s\"; did you "
                    + "mean \"10/1s\"?)"),
            Case(
                "account_limits: {sign_in: {address: 1/fortnight}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, per 1s to 1d, or unlimited (got "
                    + "\"1/fortnight\")"),
            Case("account_limits: {sign_in: {address: 0/1m}}", "account_limits.sign_in.address: must be a rate like"),
            Case("account_limits: {sign_in: {address: -1/1m}}", "account_limits.sign_in.address: must be a rate like"),
            Case(
                "account_limits: {sign_in: {address: 0/min}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, or unlimited (got \"0/min\")"),
            Case(
                "account_limits: {sign_in: {address: 60/1}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, per 1s to 1d"),
            Case(
                "account_limits: {sign_in: {address: 6/2d}}",
                "account_limits.sign_in.address: must be a rate like 60/1m or 5/1h, per 1s to 1d"),
            Case(
                "account_limits: {sign_in: {address: 6/1500ms}}",
                "account_limits.sign_in.address: must be a rate per whole seconds"),
            Case("account_limits: {sign_ins: {}}", "account_limits.sign_ins: unknown key (did you mean \"sign_in\"?)"),
            Case("account_limits: {lockout: false}", "account_limits.lockout: must be off"),
            Case(
                "account_limits: {lockout: {after: 0}}", "account_limits.lockout.after: must be a whole number from 1"),
            Case(
                "account_limits: {lockout: {first: 2m, longest: 1m}}",
                "account_limits.lockout.longest: must not be shorter than first"),
            Case(
                "account_limits: {lockout: {after: 9, most: 8}}",
                "account_limits.lockout.most: must not be less than after"),
            Case("account_limits: {keys: 1}", "account_limits.keys: must be a whole number from 1000"),
            Case("trusted_proxies: [10.0.0.1/8]", "trusted_proxies[0]: the address has bits behind its prefix"),
            Case("trusted_proxies: [proxy.internal]", "trusted_proxies[0]: must be an address or a network"),
            Case("trusted_proxies: 10.0.0.0/8", "trusted_proxies: must be a list of networks"),
            Case("audit: {log: ''}", "audit.log: must not be empty"),
            Case("audit: {webhook: {}}", "audit.webhook.url: is missing"),
            Case(
                "audit: {webhook: {url: 'http://a.b/c'}}", "audit.webhook.url: the messages contain data about users"),
            Case(
                "audit: {webhook: {url: 'https://a.b/c', events: [login]}}",
                "audit.webhook.events[0]: must be one of signed_in, sign_in_failed"),
            Case(
                "audit: {webhook: {url: 'https://a.b/c', events: []}}",
                "audit.webhook.events: must name at least one"),
            Case("audit: {webhook: {url: 'https://a.b/c', secret: ''}}", "audit.webhook.secret: the secret is empty"),
            Case("user_sync: {url: 'https://a.b/c'}", "user_sync: needs identity.assertion"),
            Case(
                "identity: {assertion: {issuer: i}}\n"
                    + "user_sync: {url: 'https://a.b/c', mode: required, events: [deleted]}",
                "user_sync.mode: required is about signed_in, which events leaves out"),
            Case(
                "identity: {assertion: {issuer: i}}\nuser_sync: {url: 'http://a.b/c'}",
                "user_sync.url: the messages contain data about users"),
            Case(
                "identity: {assertion: {issuer: i}}\nuser_sync: {url: 'https://a.b/c', mode: require}",
                "user_sync.mode: must be one of background, required"),
            Case("identity: {assertion: {issuer: i}}\nuser_sync: {}", "user_sync.url: is missing"),
        ])
    func errors(example: Case) {
        var sample = Sample()
        sample.more = example.yaml
        let found = SettingsTests.errors(sample.yaml)
        #expect(found.count == 1, "\(found)")
        let message = found.first?.drop { $0 != ":" }.dropFirst(2)
        #expect(message?.hasPrefix(example.expected) == true, "\(found)")
        let line = sample.yaml.split(separator: "\n").count
        #expect(found.first?.hasPrefix("\(line):") == true || example.yaml.contains("\n"), "\(found)")
    }
}
