import Cryptography
import NIOCore
import Pipeline
import SettingsReader
import Testing

@testable import Settings

@Suite("Settings that are right")
struct LoadTests {
    @Test("The smallest file gets every default")
    func defaults() throws {
        let settings = try load(Sample().yaml)
        #expect(settings.listeners.map(\.address) == [HostAndPort(host: "127.0.0.1", port: 8080)])
        #expect(settings.listeners.allSatisfy { $0.http2 && $0.tls == nil })
        #expect(settings.adminAddress == HostAndPort(host: "127.0.0.1", port: 9901))
        #expect(settings.threads == 0)
        let upstream = try #require(settings.upstreams.first?.upstream)
        #expect(upstream.name == "api")
        #expect(upstream.servers.map(\.name) == ["http://127.0.0.1:8000"])
        #expect(upstream.timeouts.connect == .seconds(5))
        #expect(upstream.timeouts.firstByte == .seconds(30))
        #expect(upstream.maximumIdleConnections == 128)
        #expect(settings.signIn.cognito == nil)
        #expect(settings.directCognito.mode == .block)
        #expect(settings.identity.namespace == "X-Auth-")
        #expect(settings.limits.headerBytes == 32768)
        #expect(settings.limits.headerLineBytes == 16384)
        #expect(settings.drainTimeout == .seconds(30))
        #expect(settings.stateDirectory == "/var/lib/gatehouse")
        #expect(settings.logging.level == .info)
        #expect(settings.logging.accessLog)
        #expect(settings.logging.format == .auto)
        #expect(settings.logging.destination == .standardError)
        #expect(settings.logging.accessDestination == .standardOutput)
        #expect(settings.logging.accessSampling.isEmpty)
    }

    @Test(
        "The admin listener may be reached from outside with a token, or when that is said; from this machine anyway",
        arguments: [
            "{address: '0.0.0.0:9901', token: 0123456789abcdef}",
            "{address: '0.0.0.0:9901', allow_public_without_token: true}",
            "{address: '[::1]:9901'}", "{address: '127.0.0.2:9901'}", "{token: 0123456789abcdef}",
            "{address: '0.0.0.0:9901', metrics_token: 0123456789abcdef}",
            "{address: '0.0.0.0:9901', tokens: {ada: {token: 0123456789abcdef, may: [read]}}}",
        ])
    func admin(yaml: String) throws {
        var sample = Sample()
        sample.more = "admin: \(yaml)"
        let admin = try load(sample.yaml).admin
        #expect(admin.tokens.isEmpty == !yaml.contains("token: 0"))
    }

    @Test("Settings have a digest of their file")
    func digest() throws {
        var sample = Sample()
        let first = try load(sample.yaml).digest
        #expect(first.count == 16)
        #expect(try load(sample.yaml).digest == first)
        sample.more = "# another"
        #expect(try load(sample.yaml).digest != first)
    }

    @Test("Logs go where the settings say; a relative path is relative to their file")
    func logs() throws {
        var sample = Sample()
        sample.more = """
            logging:
              format: text
              file: stdout
              access_log_file: /var/log/gatehouse/access.log
              access_log_sampling:
                - {route: "/api/**", every: 10}
                - {path: /health, every: 100}
            """
        let logging = try load(sample.yaml).logging
        #expect(logging.format == .text)
        #expect(logging.destination == .standardOutput)
        #expect(logging.accessDestination == .file("/var/log/gatehouse/access.log"))
        #expect(
            logging.accessSampling == [
                AccessSamplingSetting(requests: .route("/api/**"), every: 10),
                AccessSamplingSetting(requests: .path("/health"), every: 100),
            ])
    }

    @Test(
        "A pool's issuer and key set follow from its region",
        arguments: [
            ("us-east-1_Pool1", "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_Pool1"),
            ("cn-north-1_Pool1", "https://cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_Pool1"),
            ("us-gov-west-1_Pool1", "https://cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_Pool1"),
            ("eusc-de-east-1_P", "https://cognito-idp.eusc-de-east-1.amazonaws.eu/eusc-de-east-1_P"),
            ("us-iso-east-1_P", "https://cognito-idp.us-iso-east-1.c2s.ic.gov/us-iso-east-1_P"),
            ("us-isob-east-1_P", "https://cognito-idp.us-isob-east-1.sc2s.sgov.gov/us-isob-east-1_P"),
            ("eu-isoe-west-1_P", "https://cognito-idp.eu-isoe-west-1.cloud.adc-e.uk/eu-isoe-west-1_P"),
            ("us-isof-south-1_P", "https://cognito-idp.us-isof-south-1.csp.hci.ic.gov/us-isof-south-1_P"),
        ])
    func derivedIssuer(pool: String, issuer: String) throws {
        var sample = Sample()
        sample.issuers = "issuers: {users: {user_pool_id: \(pool), client_ids: [client1]}}"
        let read = try #require(try load(sample.yaml).issuers.first)
        #expect(read.issuer == issuer)
        #expect(read.keySource == .url(issuer + "/.well-known/jwks.json"))
        #expect(read.tokenUses == [.access])
        #expect(read.clockSkew == .seconds(60))
    }

    @Test("A local pool is reached over http only when the settings say so")
    func localPool() throws {
        var sample = Sample()
        sample.issuers = """
            issuers:
              users:
                user_pool_id: local_Pool1
                client_ids: [client1]
                issuer: http://127.0.0.1:9229/local_Pool1
                allow_insecure_http: true
            """
        sample.more = """
            sign_in:
              cognito:
                issuer: users
                client_id: client1
                client_secret: s3cret
                endpoint: http://127.0.0.1:9229/
                allow_insecure_http: true
            """
        let settings = try load(sample.yaml)
        let issuer = try #require(settings.issuers.first)
        #expect(issuer.issuer == "http://127.0.0.1:9229/local_Pool1")
        #expect(issuer.keySource == .url("http://127.0.0.1:9229/local_Pool1/.well-known/jwks.json"))
        #expect(settings.signIn.cognito?.endpoint.description == "http://127.0.0.1:9229")
    }

    @Test("Everything about a pool of gatehouse local-pool follows from its URL", arguments: ["", "/"])
    func localPoolProfile(end: String) throws {
        var sample = Sample()
        sample.issuers = """
            issuers:
              users:
                profile: local-pool
                url: http://127.0.0.1:9229\(end)
                user_pool_id: eu-central-1_Pool1
                client_ids: [client1]
            """
        sample.more = """
            sign_in:
              cognito:
                issuer: users
                client_id: client1
                client_secret: s3cret
                hosted: {domain: 'http://127.0.0.1:9229', public_url: 'http://127.0.0.1:8080', redirect_uris: ['com.example.app:/x']}
            identity: {user_attributes: {issuer: users, attributes: [email]}}
            """
        let settings = try load(sample.yaml)
        let (issuer, pool) = (try #require(settings.issuers.first), try #require(settings.signIn.cognito))
        #expect(issuer.issuer == "http://127.0.0.1:9229/eu-central-1_Pool1")
        #expect(issuer.keySource == .url("http://127.0.0.1:9229/eu-central-1_Pool1/.well-known/jwks.json"))
        #expect(issuer.allowsPlainText && issuer.allowsPrivateAddresses && issuer.tokenUses == [.access])
        #expect(pool.endpoint.description == "http://127.0.0.1:9229" && pool.region == "eu-central-1")
        #expect(settings.identity.userAttributes?.endpoint([]).description == "http://127.0.0.1:9229")
        // A derived key must not be written as well.
        sample.issuers += "\n    issuer: http://127.0.0.1:9229/eu-central-1_Pool1"
        #expect(errors(sample.yaml).contains { $0.contains("issuers.users.issuer: unknown key") })
    }

    @Test("A route takes what it leaves out from the rest of the file")
    func routeDefaults() throws {
        var sample = Sample()
        sample.issuers = """
            issuers:
              users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]}
              staff: {user_pool_id: us-east-1_Pool2, client_ids: [client2], token_uses: [id]}
            """
        sample.routes = """
            routes:
              - {path: /api/**, upstream: api}
              - {path: /files, methods: [GET], upstream: api, access: public}
              - {path: /files, methods: [PUT, POST], upstream: api, issuers: [staff]}
              - {name: photos, path: /users/*/photo, upstream: api, access: optional, forward_token: true}
            """
        let routes = try load(sample.yaml).routes
        #expect(routes.map(\.name) == ["/api/**", "GET /files", "PUT,POST /files", "photos"])
        #expect(routes.map(\.access) == [.required, .public, .required, .optional])
        #expect(routes.map(\.issuers) == [["users", "staff"], [], ["staff"], ["users", "staff"]])
        #expect(routes.map(\.tokenUses) == [[.access, .id], [], [.id], [.access, .id]])
        #expect(routes.map(\.methods) == [nil, ["GET"], ["PUT", "POST"], nil])
        #expect(routes.map(\.forwardToken) == [false, false, false, true])
    }

    @Test(
        "Direct Cognito traffic is set in short or in full",
        arguments: [
            ("direct_cognito: block", [String]()),
            ("direct_cognito: {hosted_domains: [Login.Example.com]}", ["login.example.com"]),
            ("direct_cognito:", []),
        ])
    func directCognito(yaml: String, domains: [String]) throws {
        var sample = Sample()
        sample.more = yaml
        let direct = try load(sample.yaml).directCognito
        #expect(direct.mode == .block)
        #expect(direct.hostedDomains == domains)
    }

    @Test("A section whose keys are commented out has its defaults")
    func emptySection() throws {
        var sample = Sample()
        sample.more = "limits:\n  # header_count: 5\nlogging: {}\n"
        #expect(try load(sample.yaml).limits.headerCount == 100)
    }

    @Test(
        "Values come from the environment",
        arguments: [
            ("${DIR}", "/srv/x"), ("/a/${DIR}/b", "/a//srv/x/b"), ("/a/$${DIR}", "/a/${DIR}"), ("/a$b/$", "/a$b/$"),
            ("'${EMPTY}/y'", "/y"), ("/${NESTED}", "/${DIR}"), ("state", "/etc/gatehouse/state"),
        ])
    func environment(value: String, expected: String) throws {
        var sample = Sample()
        sample.more = "state_directory: \(value)"
        let environment = ["DIR": "/srv/x", "EMPTY": "", "NESTED": "${DIR}"]
        #expect(try load(sample.yaml, environment: environment).stateDirectory == expected)
    }

    @Test("A relative settings path keeps relative paths relative")
    func relativePath() throws {
        let yaml = Sample().yaml + "state_directory: state\n"
        let settings = try GatewaySettings.load(path: "gatehouse.yaml", environment: [:]) {
            (_) throws(FileReadFailure) in Array(yaml.utf8)
        }
        #expect(settings.stateDirectory == "state")
    }

    @Test(
        "WebSockets are off, on, or on with a section",
        arguments: [
            ("", nil), ("websocket: false", nil), ("websocket: true", (true, 3600)), ("websocket: {}", (true, 3600)),
            ("websocket:", (true, 3600)),
            ("websocket: {close_on_expiry: false, idle_timeout: 10m}", (false, 600)),
        ] as [(String, (Bool, Int64)?)])
    func webSockets(yaml: String, expected: (Bool, Int64)?) throws {
        var sample = Sample()
        sample.routes = "routes:\n  - path: /a\n    upstream: api\n    \(yaml)"
        let found = try load(sample.yaml).routes[0].webSocket
        let settings = expected.map { WebSocketPolicy(closesOnExpiry: $0, idleTimeout: .seconds($1)) }
        #expect(found == settings)
    }

    @Test("A route's path has the characters that a URL has as escapes as they are", arguments: ["/café/**", "/a b"])
    func decodedPath(path: String) throws {
        var sample = Sample()
        sample.routes = "routes:\n  - path: \(path)\n    upstream: api"
        #expect(try load(sample.yaml).routes[0].path == path)
    }
}
