import HTTPTypes
import Pipeline
import Testing

@Suite("Gate: permits")
struct GatePermitTests {
    let fixture: GateFixture

    init() throws { fixture = try GateFixture() }

    struct NotForwarded: Error {}

    /// The fields that the permit for this request lets through, by name, and the lines it adds.
    func passed(_ path: String, _ fields: [(String, String)]) throws -> (names: [String], lines: String) {
        let decision = try fixture.decide(GateFixture.request(path, fields))
        guard case .forward(let permit) = consume decision else { throw NotForwarded() }
        let names = permit.request.headerFields.filter { permit.passes($0) }.map(\.name.rawName)
        return (names, String(decoding: permit.lines, as: UTF8.self))
    }

    static let forwarding = """
        X-Forwarded-For: 203.0.113.7\r
        X-Forwarded-Proto: https\r
        X-Forwarded-Host: api.example.com\r
        X-Request-Id: id-1\r
        traceparent: \(GateFixture.traceparent)\r

        """

    static let identity = """
        X-Auth-Subject: 6f1c2a4e-0000-4000-8000-1234567890ab\r
        X-Auth-Username: 6f1c2a4e-0000-4000-8000-1234567890ab\r
        X-Auth-Groups: beta,staff\r
        X-Auth-Scopes: openid email\r
        X-Auth-Issuer: https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example\r
        X-Auth-Client: 1example23456789\r
        X-Auth-Token-Use: access\r
        X-Auth-Expires: 1780003600\r

        """

    @Test("Where a token was verified the backend is told of whom, elsewhere only from where")
    func lines() throws {
        let bearer = try Credential.valid.fields(fixture.tokens)
        #expect(try passed("/required", bearer).lines == Self.forwarding + Self.identity)
        #expect(try passed("/optional", bearer).lines == Self.forwarding + Self.identity)
        #expect(try passed("/optional", []).lines == Self.forwarding)
        #expect(try passed("/public/a", bearer).lines == Self.forwarding)
        // From the cache as when verified.
        #expect(try passed("/required", bearer).lines == Self.forwarding + Self.identity)
    }

    @Test("Authorization is kept back once its token was verified, unless the route passes it on")
    func authorization() throws {
        let bearer = try Credential.valid.fields(fixture.tokens)
        #expect(try passed("/required", bearer).names == [])
        #expect(try passed("/optional", bearer).names == [])
        #expect(try passed("/forwarding", bearer).names == ["Authorization"])
        // A token that the gateway did not judge is the backend's to judge.
        #expect(try passed("/public/a", bearer).names == ["Authorization"])
        #expect(try passed("/optional", Credential.basic.fields(fixture.tokens)).names == ["Authorization"])
    }

    @Test(
        "A client can't tell the backend what the gateway tells, frame its body, or speak for the connection",
        arguments: [
            "X-Auth-Subject", "x-auth-subject", "X_Auth_Subject", "X-Auth_Groups", "X.Auth.Email", "X-Auth-Anything",
            "X-Forwarded-For", "X_Forwarded_Host", "Forwarded", "X-Request-Id", "traceparent", "X-Real-IP",
            "X-Original-URL", "X-HTTP-Method-Override", "Content-Length", "content-length", "Content_Length",
            "Transfer-Encoding", "Transfer_Encoding", "TE", "Trailer", "Connection", "Keep-Alive", "Upgrade",
            "Proxy-Connection", "Proxy-Authorization", "Expect", "Host", "X-Amz-Date",
        ])
    func removed(name: String) throws {
        let fields = [("Accept", "*/*"), (name, "1"), ("User-Agent", "a")]
        for path in ["/public/a", "/optional"] {
            #expect(try passed(path, fields).names == ["Accept", "User-Agent"])
        }
        let bearer = try Credential.valid.fields(fixture.tokens)
        #expect(try passed("/forwarding", bearer + fields).names == ["Authorization", "Accept", "User-Agent"])
    }

    @Test(
        "Everything else goes on as it came",
        arguments: [
            "Cookie", "Content-Type", "Content-Encoding", "If-None-Match", "Range", "Origin", "X-API-Key",
            "X-Amzn-Trace-Id", "tracestate", "X-My_Header", "X-Authentic", "Authorization-Info", "X-Forward",
        ])
    func kept(name: String) throws {
        #expect(try passed("/public/a", [(name, "1"), (name, "2")]).names == [name, name])
    }

    @Test("What Connection lists is for this connection only; what is protected can't be listed away")
    func connectionOptions() throws {
        let fields = [
            ("X-Hop", "1"), ("Cookie", "a=b"), ("Connection", "close, x-hop, Cookie, X-Other"), ("X-Other", "1"),
            ("X-Kept", "1"),
        ]
        #expect(try passed("/public/a", fields).names == ["Cookie", "X-Kept"])
    }

    @Test("The target is what was authorised, byte for byte")
    func target() throws {
        for target in ["/public/%41b?q=%2F..%00&x=a%20b", "/public", "/public/a%20b?", "/public/%C3%A9"] {
            let decision = try fixture.decide(GateFixture.request(target))
            guard case .forward(let permit) = consume decision else {
                Issue.record("\(target) was not forwarded")
                continue
            }
            #expect(permit.target == target)
        }
    }
}
