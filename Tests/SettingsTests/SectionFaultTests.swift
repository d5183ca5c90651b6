import Testing

@testable import Settings

@Suite("Faults of each section")
struct SectionFaultTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var yaml: String
        var expected: String
        var testDescription: String { yaml }

        init(_ yaml: String, _ expected: String) {
            self.yaml = yaml
            self.expected = expected
        }
    }

    /// The one fault of a file is `expected` (its beginning, without the line).
    private func check(_ yaml: String, _ expected: String) {
        let found = errors(yaml)
        #expect(found.count == 1, "\(found)")
        let message = found.first?.drop { $0 != ":" }.dropFirst(2)
        #expect(message?.hasPrefix(expected) == true, "\(found)")
    }

    @Test(
        "Faults of simple keys",
        arguments: [
            Case("threads: -1", "threads: must be a whole number from 0 to 1024 (got \"-1\")"),
            Case("threads: +1", "threads: must be a whole number"),
            Case("threads: 1.5", "threads: must be a whole number"),
            Case("threads: [1]", "threads: must be a single value, not a list"),
            Case("threads:", "threads: has no value"),
            Case("threads: ${N}", "threads: the environment variable N is not set"),
            Case("threads: '${N'", "threads: \"${\" without a closing \"}\""),
            Case("threads: ${N:-2}", "threads: \"${…}\" must hold the name"),
            Case("admin: 127.0.0.1:1", "admin: must be a section of keys, not a single value"),
            Case("admin: {address: '127.0.0.1:8080'}", "admin.address: another listener has this address"),
            Case("admin: {address: 127.0.0.1}", "admin.address: must be an address like"),
            Case("admin: {address: '0.0.0.0:9901'}", "admin.address: can be reached from outside: set admin.token"),
            Case("admin: {address: '[::]:9901'}", "admin.address: can be reached from outside"),
            Case("admin: {address: '10.0.0.1:9901'}", "admin.address: can be reached from outside"),
            Case("admin: {token: short}", "admin.token: must be at least 16 visible ASCII characters"),
            Case("admin: {metrics_token: short}", "admin.metrics_token: must be at least 16 visible ASCII characters"),
            Case(
                "admin: {tokens: {ada: {token: short, may: [read]}}}",
                "admin.tokens.ada.token: must be at least 16 visible ASCII characters"),
            Case("admin: {tokens: {}}", "admin.tokens: must hold at least one token"),
            Case("admin: {tokens: {ada: {may: [read]}}}", "admin.tokens.ada.token: is missing"),
            Case("admin: {tokens: {ada: {token: 0123456789abcdef}}}", "admin.tokens.ada.may: is missing"),
            Case(
                "admin: {tokens: {ada: {token: 0123456789abcdef, may: []}}}",
                "admin.tokens.ada.may: must hold at least one right"),
            Case(
                "admin: {tokens: {ada: {token: 0123456789abcdef, may: [write]}}}",
                "admin.tokens.ada.may[0]: must be one of metrics, read, reload"),
            Case(
                "admin: {token: 0123456789abcdef, metrics_token: 0123456789abcdef}",
                "admin.metrics_token: is the same token as admin.token"),
            Case(
                "admin: {token: 0123456789abcdef, tokens: {bob: {token: 0123456789abcdef, may: [drain]}}}",
                "admin.tokens.bob.token: is the same token as admin.token"),
            Case("admin: {allow_public_without_token: 1}", "admin.allow_public_without_token: must be true or false"),
            Case("drain_timeout: 2h", "drain_timeout: must be a duration from 0s to 1h"),
            Case("drain_timeout: 99999999999s", "drain_timeout: must be a duration like"),
            Case(
                "logging: {level: warn}",
                "logging.level: must be one of trace, debug, info, notice, warning, error, critical (got \"warn\"; "
                    + "did you mean \"warning\"?)"),
            Case(
                "sign_in: {cognito: {issuer: users, client_id: client1, client_secret: s, cors: {origins: [app.example]}}}",
                "sign_in.cognito.cors.origins[0]: must be an origin"),
            Case(
                "sign_in: {cognito: {issuer: users, client_id: client1, client_secret: s, cors: {origins: []}}}",
                "sign_in.cognito.cors.origins: must name at least one origin"),
            Case("logging: {access_log: yes}", "logging.access_log: must be true or false (got \"yes\")"),
            Case(
                "logging: {access_log_file: off}",
                "logging.access_log_file: is no file's name: access_log: false switches the log off, and ./off is"),
            Case("logging: {access_log_file: None}", "logging.access_log_file: is no file's name"),
            Case("logging: {access_log_file: ~}", "logging.access_log_file: has no value"),
            Case("logging: {file: no}", "logging.file: is no file's name: stderr and stdout are known"),
            Case("audit: {log: false}", "audit.log: is no file's name: off switches the log off"),
            Case("audit: {log: OFF}", "audit.log: is no file's name: off switches the log off"),
            Case("logging: {format: xml}", "logging.format: must be one of auto, json, text"),
            Case(
                "logging: {access_log_sampling: [{route: nowhere, every: 2}]}",
                "logging.access_log_sampling[0].route: names no route"),
            Case(
                "logging: {access_log_sampling: [{every: 2}]}",
                "logging.access_log_sampling[0]: must have either route or path"),
            Case(
                "logging: {access_log_sampling: [{path: /health, every: 1}]}",
                "logging.access_log_sampling[0].every: must be a whole number from 2"),
            Case(
                "logging: {access_log_sampling: [{path: /health}]}",
                "logging.access_log_sampling[0].every: is missing"),
            Case("tracing: {sampling: 1}", "tracing.endpoint: is missing"),
            Case(
                "tracing: {endpoint: 'http://c.test/v1/traces'}",
                "tracing.endpoint: spans and metrics contain data about requests"),
            Case(
                "tracing: {endpoint: 'https://c.test/v1/traces', sampling: 1.5}",
                "tracing.sampling: must be a number from 0 to 1"),
            Case(
                "tracing: {endpoint: 'https://c.test/v1/traces', sampling: 1e-1}",
                "tracing.sampling: must be a number from 0 to 1"),
            Case(
                "tracing: {endpoint: 'https://c.test/v1/traces', attributes: [{name: a}]}",
                "tracing.attributes[0].value: is missing"),
            Case("identity: {namespace: X-}", "identity.namespace: must be 3 to 32"),
            Case("identity: {claims: [a]}", "identity.claims: must be a section of keys, not a list"),
            Case("identity: {claims: {'X:Y': a}}", "identity.claims.X:Y: the name must be"),
            Case("identity: {claims: {X-Auth-Subject: a}}", "identity.claims.X-Auth-Subject: this header has another"),
            Case("identity: {claims: {x_auth_email: a}}", "identity.claims.x_auth_email: this header has another"),
            Case("identity: {claims: {X-Forwarded-User: a}}", "identity.claims.X-Forwarded-User: this header has"),
            Case("identity: {claims: {Authorization: a}}", "identity.claims.Authorization: this header has another"),
            Case("identity: {claims: {X-A: a, x_a: b}}", "identity.claims.x_a: is given more than once"),
            Case("identity: {claims: {X-A: []}}", "identity.claims.X-A: must name a claim"),
            Case("identity: {namespace: x-forwarded-}", "identity.namespace: must not cover headers"),
            Case("identity: {namespace: X_Auth_}", "identity.namespace: must be 3 to 32"),
            Case("direct_cognito: translte", "direct_cognito: must be one of block, translate"),
            Case("direct_cognito: translate", "direct_cognito: translate needs sign_in.cognito"),
            Case("direct_cognito: {mode: translate}", "direct_cognito.mode: translate needs sign_in.cognito"),
            Case("direct_cognito: {client_ids: ['a b']}", "direct_cognito.client_ids[0]: must be 1 to 256"),
            Case(
                "sign_in: {cognito: {issuer: users, client_id: client1, client_secret: s}}\n"
                    + "direct_cognito: {mode: translate, client_ids: [client1]}",
                "direct_cognito.client_ids: client1 is sign_in.cognito.client_id"),
            Case(
                "sign_in: {cognito: {issuer: users, client_id: client1, client_secret: s}}\n"
                    + "direct_cognito: {mode: translate, client_ids: [client2]}",
                "direct_cognito.client_ids[0]: must be one of issuers.users.client_ids (got \"client2\")"),
            Case("direct_cognito: {client_ids: [client1]}", "direct_cognito.client_ids: are served by mode: translate"),
            Case(
                "direct_cognito: {mode: block, client_ids: [client1]}",
                "direct_cognito.client_ids: are served by mode: translate"),
            Case("direct_cognito: {hosted_domains: ['a.b:443']}", "direct_cognito.hosted_domains[0]: must be a domain"),
            Case("key_sets: {maximum_lifetime: 1m}", "key_sets.maximum_lifetime: must not be shorter"),
            Case("key_sets: {maximum_bytes: 2MiB}", "key_sets.maximum_bytes: must be a size from 1KiB to 1MiB"),
            Case("key_sets: {timeout: 5 s}", "key_sets.timeout: must be a duration"),
            Case(
                "limits: {header_bytes: 8KiB, header_line_bytes: 9KiB}", "limits.header_line_bytes: must not be larger"),
            Case("limits: {token_bytes: 1MiB}", "limits.token_bytes: must be a size from 512B to 64KiB"),
            Case("frobnicate: 1", "frobnicate: unknown key (known here: account_limits, acme, admin, audit"),
        ])
    func simple(_ value: Case) {
        var sample = Sample()
        sample.more = value.yaml
        check(sample.yaml, value.expected)
    }

    @Test(
        "Faults of listeners",
        arguments: [
            Case("[{address: ':8080'}]", "listeners[0].address: must be an address"),
            Case("[{address: '127.0.0.1:65536'}]", "listeners[0].address: must be an address"),
            Case("[{address: '::1:8080'}]", "listeners[0].address: must be an address"),
            Case("[{address: '[1.2.3.4]:80'}]", "listeners[0].address: must be an address"),
            Case("[{address: 'a b:80'}]", "listeners[0].address: must be an address"),
            Case("{address: '127.0.0.1:80'}", "listeners: must be a list of listeners, not a section"),
            Case("['127.0.0.1:80']", "listeners[0]: must be a section of keys, not a single value"),
        ])
    func listeners(_ value: Case) {
        var sample = Sample()
        sample.listeners = "listeners: \(value.yaml)"
        check(sample.yaml, value.expected)
    }

    @Test(
        "Who may read a response is said in one place",
        arguments: [
            ("{add: {Access-Control-Allow-Origin: '*'}}", "Access-Control-Allow-Origin"),
            ("{add: {access-control-allow-headers: x}}", "access-control-allow-headers"),
            ("{remove: [Server, Access-Control-Max-Age]}", "Access-Control-Max-Age"),
        ])
    func crossOriginHeaders(rules: String, name: String) {
        var sample = Sample()
        let route = "path: /api/**, upstream: api, response_headers: \(rules)"
        sample.routes = "routes: [{\(route), cors: {origins: ['https://app.example']}}]"
        check(sample.yaml, "routes[0].response_headers: must not name \(name)")
        // Without the section it is the backend's matter, and a route may help it.
        sample.routes = "routes: [{\(route)}]"
        #expect(errors(sample.yaml) == [])
    }

    @Test("A listener can't have the admin listener's default address")
    func adminDefault() {
        var sample = Sample()
        sample.listeners = "listeners: [{address: '127.0.0.1:9901'}]"
        check(sample.yaml, "admin: another listener has this address")
    }

    @Test(
        "Two listeners of one port clash where one of them is every address, and the other among these",
        arguments: [
            ("0.0.0.0", "127.0.0.1", true), ("127.0.0.1", "0.0.0.0", true), ("[::]", "127.0.0.1", true),
            ("[::]", "0.0.0.0", true), ("[::0]", "[::]", true), ("[::1]", "[::]", true), ("localhost", "[::]", true),
            ("127.0.0.1", "[::ffff:127.0.0.1]", true), ("[::1]", "0.0.0.0", false), ("127.0.0.1", "127.0.0.2", false),
            ("[::1]", "127.0.0.1", false), ("localhost", "127.0.0.1", false), ("localhost", "0.0.0.0", false),
        ])
    func overlaps(first: String, second: String, clashes: Bool) {
        var sample = Sample()
        sample.listeners = "listeners: [{address: '\(first):8080'}, {address: '\(second):8080'}]"
        let told = clashes ? ["1: listeners[1].address: another listener has the port already, with \(first):8080"] : []
        #expect(errors(sample.yaml).map { String($0.prefix { $0 != "(" }).trimmed } == told)
        sample.listeners = "listeners: [{address: '\(first):8080'}, {address: '\(second):8081'}]"
        #expect(errors(sample.yaml) == [])
    }

    @Test("Ports that the system chooses don't clash")
    func anyPort() {
        var sample = Sample()
        sample.listeners = "listeners: [{address: '127.0.0.1:0'}, {address: '127.0.0.1:0'}, {address: '[::1]:8080'}]"
        #expect(errors(sample.yaml) == [])
    }

    @Test(
        "Faults of upstreams",
        arguments: [
            Case(
                "{api: {url: 'http://h/v1'}}",
                "upstreams.api.url: must have no path: the client's own is sent on; add_prefix of a route puts one before it"
            ),
            Case("{api: {url: 'http://h:0'}}", "upstreams.api.url: must be a URL"),
            Case("{api: {url: 'http://'}}", "upstreams.api.url: must be a URL"),
            Case("{api: {url: 'http://h?x'}}", "upstreams.api.url: must have no query"),
            Case("{api: {url: '127.0.0.1:8000'}}", "upstreams.api.url: must be a URL"),
            Case("{api: {url: 'http://user:pw@h'}}", "upstreams.api.url: must not hold a user name or password"),
            Case("{api: {url: 'http://h', keep_alive: -1s}}", "upstreams.api.keep_alive: must be a duration"),
            Case("{api: {url: 'http://h'}, 'b.c': {url: 'http://h'}}", "upstreams.b.c: the name must be"),
            Case("{api: {}}", "upstreams.api.url: is missing"),
            Case("{api: {servers: []}}", "upstreams.api.servers: must hold at least one server"),
            Case("{api: {url: 'http://h', servers: [{url: 'http://h'}]}}", "upstreams.api.url: stands beside servers"),
            Case(
                "{api: {servers: [{url: 'http://h'}, {url: 'http://h:80'}]}}",
                "upstreams.api.servers[1]: another server has the same url"),
            Case("{api: {servers: [{weight: 2}]}}", "upstreams.api.servers[0].url: is missing"),
            Case(
                "{api: {servers: [{url: 'http://h', weight: 0}]}}",
                "upstreams.api.servers[0].weight: must be a whole number from 1 to 100"),
            Case("{api: {url: 'unix:run/api.sock'}}", "upstreams.api.url: must be unix: and the absolute path"),
            Case("{api: {url: 'http://h', balance: random}}", "upstreams.api.balance: must be one of round_robin"),
            Case("{api: {url: 'http://h', retries: {budget: 0.1}}}", "upstreams.api.retries.budget: must be a percent"),
            Case("{api: {url: 'http://h', health: {}}}", "upstreams.api.health.path: is missing"),
            Case("{api: {url: 'http://h', health: {path: up}}}", "upstreams.api.health.path: must be a path"),
            Case(
                "{api: {url: 'http://h', ejection: {statuses: [404]}}}", "upstreams.api.ejection.statuses[0]: must be"),
            Case("{api: {url: 'http://h', ejection: {paths: 0}}}", "upstreams.api.ejection.paths: must be"),
            Case("{api: {url: 'http://h', ejection: {clients: 17}}}", "upstreams.api.ejection.clients: must be"),
            Case(
                "{api: {url: 'http://h', ejection: {largest_share: 10}}}",
                "upstreams.api.ejection.largest_share: must be"),
            Case("{api: {url: 'http://h', ejection: {first: 10m}}}", "upstreams.api.ejection.first: longest must not"),
            Case("{api: {url: 'http://h', tls: {}}}", "upstreams.api.tls: has no effect"),
            Case("{api: {url: 'https://h', tls: {ca: none.pem}}}", "upstreams.api.tls.ca: the file can't be read"),
            Case("{api: {url: 'https://h', tls: {pinned_key: abc}}}", "upstreams.api.tls.pinned_key: must be sha256//"),
            Case(
                "{api: {url: 'https://h', tls: {server_name: 'a:1'}}}", "upstreams.api.tls.server_name: must be a host"),
            Case("{api: http://h}", "upstreams.api: must be a section of keys"),
        ])
    func upstreams(_ value: Case) {
        var sample = Sample()
        sample.upstreams = "upstreams: \(value.yaml)"
        check(sample.yaml, value.expected)
    }

    @Test(
        "Faults of issuers",
        arguments: [
            Case("{user_pool_id: us-east-1, client_ids: [c]}", "issuers.users.user_pool_id: must be a user pool's id"),
            Case("{user_pool_id: us-east-1_P}", "issuers.users.client_ids: is missing"),
            Case("{user_pool_id: us-east-1_P, client_ids: []}", "issuers.users.client_ids: must name at least one"),
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c, c]}",
                "issuers.users.client_ids[1]: is given more than once"),
            Case("{client_ids: [c]}", "issuers.users.user_pool_id: is missing"),
            Case("{user_pool_id: us-east-1_P, client_ids: [c], jwks_url: here}", "issuers.users.jwks_url: must be a"),
            Case("{user_pool_id: us-east-1_P, client_ids: [c], issuer: here}", "issuers.users.issuer: must be a URL"),
            Case(
                "{user_pool_id: us-east-1_P, region: eu-west-1, client_ids: [c]}",
                "issuers.users.region: the pool's id says that it is in another region"),
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c], jwks_url: 'http://h/k'}",
                "issuers.users.jwks_url: key sets are fetched over https only"),
            // Each call would be refused for the token's iss.
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c], jwks_url: 'https://h/k'}",
                "issuers.users.jwks_url: needs issuer beside it: the tokens of a pool that is not at AWS have another iss"
                    + " than https://cognito-idp.us-east-1.amazonaws.com/us-east-1_P"),
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c], issuer: 'http://h/p'}",
                "issuers.users.issuer: key sets are fetched over https only"),
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c], token_uses: [acess]}",
                "issuers.users.token_uses[0]: must be one of access, id (got \"acess\"; did you mean \"access\"?)"),
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c], profile: okta}",
                "issuers.users.profile: must be one of cognito, local-pool, apple, oidc, gatehouse"),
            Case(
                "{user_pool_id: us-east-1_P, client_ids: [c]}, again: {user_pool_id: us-east-1_P, client_ids: [d]}",
                "routes[0]: accepts issuers.users and issuers.again, whose issuer is the same"),
        ])
    func issuers(_ value: Case) {
        var sample = Sample()
        sample.issuers = "issuers: {users: \(value.yaml)}"
        check(sample.yaml, value.expected)
    }

    @Test(
        "Faults of routes",
        arguments: [
            Case("{path: api, upstream: api}", "routes[0].path: must begin with \"/\""),
            Case("{path: //a, upstream: api}", "routes[0].path: must not hold \"//\""),
            Case("{path: /a/../b, upstream: api}", "routes[0].path: must not hold \".\" or \"..\""),
            Case("{path: /a*, upstream: api}", "routes[0].path: \"*\" must be a whole segment"),
            Case("{path: /**/a, upstream: api}", "routes[0].path: \"**\" may only be the last segment"),
            Case("{path: '/a?b', upstream: api}", "routes[0].path: must hold only characters of a URL's path"),
            Case("{path: '/a%20b', upstream: api}", "routes[0].path: pattern \"/a%20b\" holds a percent escape"),
            Case("{path: '/a\u{FF0F}b', upstream: api}", "routes[0].path: pattern \"/a\u{FF0F}b\" holds a control or"),
            Case(
                "{path: /a, upstream: api, add_prefix: /é}",
                "routes[0].add_prefix: must hold only characters of a URL's path"),
            Case("{path: /a, upstream: api, methods: [get]}", "routes[0].methods[0]: must be one of GET"),
            Case("{path: /a, upstream: api, methods: []}", "routes[0].methods: must name at least one"),
            Case("{path: /a, upstream: api, issuers: [user]}", "routes[0].issuers[0]: names no issuer"),
            Case("{path: /a, upstream: api, issuers: []}", "routes[0].issuers: must name at least one"),
            Case("{path: /a, upstream: api, token_uses: [id]}", "routes[0].token_uses: none of the route's issuers"),
            Case("{path: /a, upstream: api, access: public, issuers: [users]}", "routes[0].issuers: has no effect"),
            Case(
                "{path: /a, upstream: api}, {path: /a, upstream: api}", "routes[1]: another route, \"/a\", has the same"
            ),
            Case(
                "{path: /a, upstream: api, name: x}, {path: /b, upstream: api, name: x}",
                "routes[1]: another route is called \"x\""),
            Case(
                "{path: /a, upstream: api, name: none}",
                "routes[0].name: \"none\" is what metrics call requests that no route takes"),
            Case("{path: /a}", "routes[0].upstream: is missing"),
            Case("{path: /a, upstream: api, hosts: []}", "routes[0].hosts: must name at least one"),
            Case("{path: /a, upstream: api, hosts: ['a.test:80']}", "routes[0].hosts[0]: must be a host like"),
            Case("{path: /a, upstream: api, hosts: ['*']}", "routes[0].hosts[0]: must be a host like"),
            Case("{path: /a, upstream: api, hosts: ['a.*.test']}", "routes[0].hosts[0]: must be a host like"),
            Case(
                "{path: /a, upstream: api, hosts: [a.test, b.test]}, {path: /a, upstream: api, hosts: [B.test]}",
                "routes[1]: another route, \"a.test,b.test/a\", has the same"),
            Case("{path: /a, upstream: api, allow: []}", "routes[0].allow: must hold at least one"),
            Case("{path: /a, upstream: api, deny: [10.0.0.1/8]}", "routes[0].deny[0]: the address has bits"),
            Case("{path: /a, upstream: api, rate_limit: {}}", "routes[0].rate_limit.rate: is missing"),
            Case(
                "{path: /a, upstream: api, rate_limit: {rate: unlimited}}",
                "routes[0].rate_limit.rate: must be a rate like 60/1m"),
            Case(
                "{path: /a, upstream: api, rate_limit: {rate: 1/1m, burst: 0}}",
                "routes[0].rate_limit.burst: must be a whole number from 1"),
            Case(
                "{path: /a, upstream: api, rate_limit: {rate: 1/1m, by: header}}",
                "routes[0].rate_limit.by: needs header"),
            Case(
                "{path: /a, upstream: api, rate_limit: {rate: 1/1m, header: X-Key}}",
                "routes[0].rate_limit.header: has no effect"),
            Case(
                "{path: /a, upstream: api, rate_limit: {rate: 1/1m, by: header, header: 'a b'}}",
                "routes[0].rate_limit.header: must be the name"),
            Case(
                "{path: /a, upstream: api, access: public, rate_limit: {rate: 1/1m, by: subject}}",
                "routes[0].rate_limit.by: a public route"),
            Case(
                "{path: /ab/**, upstream: api, strip_prefix: /a}",
                "routes[0].strip_prefix: the route's path does not begin with it"),
            Case("{path: /a, upstream: api, add_prefix: a}", "routes[0].add_prefix: must begin with"),
            Case("{path: /a, upstream: api, websocket: yes}", "routes[0].websocket: must be true or false"),
            Case(
                "{path: /a, upstream: api, methods: [POST], websocket: true}",
                "routes[0].websocket: a WebSocket is opened with GET"),
            Case(
                "{path: /a, upstream: api, access: public, websocket: {close_on_expiry: true}}",
                "routes[0].websocket.close_on_expiry: has no effect on a public route"),
            Case(
                "{path: /a, upstream: api, websocket: {idle_timeout: 0s}}",
                "routes[0].websocket.idle_timeout: must be a duration from 1s to 30d"),
            Case("{path: /a, upstream: api, token_cookie: 'a b'}", "routes[0].token_cookie: must be 1 to 64"),
            Case("{path: /a, upstream: api, token_cookie: 'a=b'}", "routes[0].token_cookie: must be 1 to 64"),
            Case(
                "{path: /a, upstream: api, access: public, token_cookie: a}",
                "routes[0].token_cookie: has no effect on a public route"),
            Case(
                "{path: /a, upstream: api, token_websocket_protocol: bearer}",
                "routes[0].token_websocket_protocol: has no effect without websocket"),
            Case(
                "{path: /a, upstream: api, access: public, websocket: true, token_websocket_protocol: bearer}",
                "routes[0].token_websocket_protocol: has no effect on a public route"),
            Case(
                "{path: /a, upstream: api, websocket: true, token_websocket_protocol: 'a,b'}",
                "routes[0].token_websocket_protocol: must be 1 to 64"),
            Case("{path: /a, upstream: api, websocket: {idle: 1s}}", "routes[0].websocket.idle: unknown key"),
            Case("{path: /a, upstream: api, timeouts: {first: 1s}}", "routes[0].timeouts.first: unknown key"),
            Case(
                "{path: /a, upstream: api, request_headers: {add: {x-auth-subject: me}}}",
                "routes[0].request_headers.add.x-auth-subject: this header is the gateway's own"),
            Case(
                "{path: /a, upstream: api, request_headers: {remove: [X_Forwarded_For]}}",
                "routes[0].request_headers.remove[0]: this header is the gateway's own"),
            Case(
                "{path: /a, upstream: api, response_headers: {add: {Transfer-Encoding: x}}}",
                "routes[0].response_headers.add.Transfer-Encoding: this header is the gateway's own"),
            Case(
                "{path: /a, upstream: api, response_headers: {add: {X-A: \"a\\r\\nb\"}}}",
                "routes[0].response_headers.add.X-A: must hold only visible ASCII"),
            Case("{path: /a, upstream: api, requires: x}", "routes[0].requires: unknown key"),
            Case(
                "{path: '/users/{id}/photo', upstream: api}",
                "routes[0].path: \"*\" stands for any one segment, and {sub} for one that is the token's subject (got "
                    + "\"/users/{id}/photo\"; did you mean \"/users/*/photo\"?)"),
            Case(
                "{path: '/users/<id>', upstream: api}",
                "routes[0].path: \"*\" stands for any one segment, and {sub} for one that is the token's subject (got "
                    + "\"/users/<id>\"; did you mean \"/users/*\"?)"),
            Case(
                "{path: /a, upstream: api, cors: {origins: ['https://app.example/']}}",
                "routes[0].cors.origins[0]: must not end with \"/\": browsers send none (got \"https://app.example/\"; did "
                    + "you mean \"https://app.example\"?)"),
        ])
    func routes(_ value: Case) {
        var sample = Sample()
        sample.routes = "routes: [\(value.yaml)]"
        check(sample.yaml, value.expected)
    }

    @Test(
        "Faults of sign-in",
        arguments: [
            Case("client_id: client1, client_secret: s", "sign_in.cognito.issuer: is missing"),
            Case("issuer: usrs, client_id: client1, client_secret: s", "sign_in.cognito.issuer: names no issuer"),
            Case(
                "issuer: users, client_id: other, client_secret: s", "sign_in.cognito.client_id: must be one of issuers"
            ),
            Case("issuer: users, client_id: client1", "sign_in.cognito.client_secret: is missing"),
            Case(
                "issuer: users, client_id: client1, client_secret: s, endpoint: 'http://h'",
                "sign_in.cognito.endpoint: passwords are sent over https only"),
            Case(
                "issuer: users, client_id: client1, client_secret: s, endpoint: 'https://h'",
                "sign_in.cognito.endpoint: needs issuers.users.issuer: the tokens of a pool that is not at AWS have"),
            Case(
                "issuer: users, client_id: client1, client_secret: s, endpoint: 'https://amazonaws.com.example'",
                "sign_in.cognito.endpoint: needs issuers.users.issuer: the tokens of a pool that is not at AWS have"),
            Case(
                "issuer: users, client_id: client1, client_secret: s, prefix: /auth/",
                "sign_in.cognito.prefix: must be a path like /api/v1/auth"),
        ])
    func signIn(_ value: Case) {
        var sample = Sample()
        sample.more = "sign_in: {cognito: {\(value.yaml)}}"
        check(sample.yaml, value.expected)
    }
}

extension String {
    fileprivate var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}
