import HTTPTypes
import Testing

@testable import Pipeline

@Suite("InboundFields")
struct IdentityInboundFieldsTests {
    static func field(_ line: String) throws -> HTTPField {
        let parts = line.split(separator: ":", maxSplits: 1)
        let value = parts.count > 1 ? parts[1].drop { $0 == " " } : "v"
        return HTTPField(name: try #require(HTTPField.Name(String(parts[0]))), value: String(value))
    }

    static let removed: [(row: Int, line: String)] = [
        (34, "X-Auth-Subject"), (34, "x-auth-subject: "), (34, "X-AUTH-ANYTHING"), (34, "x-auth-"),
        (35, "X_Auth_Subject"), (35, "X-Auth_Subject"), (35, "X.Auth.Subject"), (35, "x_auth.subject"),
        (35, "X+Auth+Subject"), (35, "x~auth!subject"),
        (34, "X-Tenant"), (35, "x_tenant"), (35, "X.TENANT"),
        (36, "Connection: X-Auth-Subject"), (36, "Keep-Alive"), (36, "Proxy-Connection"), (36, "Proxy-Authenticate"),
        (36, "Proxy-Authorization"), (36, "TE: trailers"), (36, "Trailer"), (36, "Transfer-Encoding: chunked"),
        (36, "Upgrade: websocket"), (36, "Transfer_Encoding: chunked"), (36, "Host: other"),
        (40, "X-Forwarded-For: 1.2.3.4"), (40, "X_Forwarded_For"), (40, "X-Forwarded_Proto"), (40, "X.Forwarded.Host"),
        (40, "X-Forwarded-Anything"), (40, "X-Forwarded"), (40, "Forwarded: for=1.2.3.4"), (40, "True-Client-IP"),
        (40, "True_Client_IP"), (40, "X-Real-IP"), (40, "x_real_ip"), (40, "X-Client-IP"), (40, "X-Cluster-Client-IP"),
        (40, "CF-Connecting-IP"), (40, "CF_Connecting_IP"), (40, "Client-IP"),
        (41, "X-Forwarded-Uri"), (41, "X-Original-URL"), (41, "X_Original_URL"), (41, "X-Rewrite-URL"),
        (41, "X-Original-Method"), (41, "X-HTTP-Method-Override"), (41, "X-Method-Override"),
        (41, "x_http.method-override"),
        (88, "X-Request-Id"), (88, "x_request_id"), (88, "traceparent"),
        (59, "Expect: 100-continue"),
        (35, "Content_Length: 5"), (35, "content.length: 5"),
        (0, "X-Amz-Target: AWSCognitoIdentityProviderService.SignUp"), (0, "X_Amz_Target"), (0, "x-amz-date"),
        (0, "Authorization: AWS4-HMAC-SHA256 Credential=a"), (0, "authorization: aws4-hmac-sha256 Credential=a"),
        (0, "Authorization: AWS4-ECDSA-P256-SHA256 Credential=a"),
    ]

    @Test("What could deceive the backend does not pass", arguments: removed)
    func removes(row: Int, line: String) throws {
        let inbound = InboundFields(alsoSet: ["X_Tenant"])
        #expect(try !inbound.passes(Self.field(line), connectionOptions: []), "row \(row)")
    }

    @Test(
        "Everything else passes, also names that merely hold _ or .",
        arguments: [
            "Accept", "Authorization: Bearer abc", "Authorization: Basic aws4-", "Content-Type: text/plain",
            "Content-Length: 5", "Cookie: a=b", "User-Agent: x", "X-App-Version", "x_custom", "X_App.Version",
            "my.header", "a+b", "x!y~z",
            "X-Amzn-Trace-Id", "tracestate", "X-Author", "X-Authx-Subject", "X-Ten", "Origin", "Range", "Via",
            "Max-Forwards",
            "xauth-subject", "Cache-Control", "Test", "Forwarded-Like", "Hostname", "Upgrade-Insecure-Requests",
        ])
    func passes(line: String) throws {
        let inbound = InboundFields(alsoSet: ["X_Tenant"])
        #expect(try inbound.passes(Self.field(line), connectionOptions: []))
    }

    @Test("A configured namespace is guarded in every spelling, and the default one is then free")
    func otherNamespace() throws {
        let inbound = InboundFields(namespace: "Remote_User-")
        for line in ["Remote-User-Id", "remote_user_id", "REMOTE.USER.ID", "remote-user-"] {
            #expect(try !inbound.passes(Self.field(line), connectionOptions: []), "\(line)")
        }
        #expect(try inbound.passes(Self.field("X-Auth-Subject"), connectionOptions: []))
        #expect(try inbound.passes(Self.field("Remote"), connectionOptions: []))
    }

    @Test("An empty namespace does not switch the guard off")
    func emptyNamespace() throws {
        #expect(try !InboundFields(namespace: "").passes(Self.field("X-Auth-Subject"), connectionOptions: []))
        #expect(try InboundFields(namespace: "").passes(Self.field("Accept"), connectionOptions: []))
    }

    @Test("keep-alive and close are no options to remove", arguments: ["keep-alive", "Keep-Alive", "close", "CLOSE"])
    func ordinaryConnection(value: String) {
        #expect(InboundFields().connectionOptions(of: [.connection: value, .accept: "a"]) == [])
    }

    @Test("A field that Connection lists is removed, whatever the case and place")
    func listedFields() throws {
        var fields: HTTPFields = [.accept: "a", .connection: "close , x-HOP,\tX-Other"]
        fields.append(try Self.field("X-Hop: 1"))
        fields.append(try Self.field("X-Other: 1"))
        fields.append(try Self.field("Connection: X-Third, X-Absent"))
        fields.append(try Self.field("X-Third: 1"))
        let inbound = InboundFields()
        let options = inbound.connectionOptions(of: fields)
        #expect(options.sorted() == ["x-hop", "x-other", "x-third"])
        let names = fields.filter { inbound.passes($0, connectionOptions: options) }.map(\.name.canonicalName)
        #expect(names == ["accept"])
    }

    @Test("A list is told apart by its bytes")
    func listedBytes() throws {
        var fields: HTTPFields = [.connection: "X-Hop,\u{301}x, X-Other\u{301}, \u{212a}-Third"]
        for name in ["X-Hop", "X-Other", "K-Third"] { fields.append(try Self.field("\(name): 1")) }
        #expect(InboundFields().connectionOptions(of: fields) == ["x-hop"])
    }

    @Test("A list without end is not searched but taken to list everything that can be listed", arguments: [1, 65])
    func endlessList(fieldCount: Int) throws {
        var fields: HTTPFields = [.accept: "a", .authorization: "Bearer t"]
        for index in 0..<fieldCount {
            let value = (0..<(fieldCount == 1 ? 65 : 1)).map { "x-\(index)-\($0)" }.joined(separator: ",")
            fields.append(try Self.field("Connection: " + value))
        }
        let options = InboundFields().connectionOptions(of: fields)
        #expect(options.contains("accept") && !options.contains("authorization"))
    }

    @Test("The longest list that is searched lists what it names, over however many fields", arguments: [1, 64])
    func longestList(fieldCount: Int) throws {
        var fields: HTTPFields = [.accept: "a"]
        for index in 0..<fieldCount {
            let value = (0..<(fieldCount == 1 ? 64 : 1)).map { "x-\(index)-\($0)" }.joined(separator: ",")
            fields.append(try Self.field("Connection: " + value))
        }
        fields.append(try Self.field("X-0-0: 1"))
        #expect(InboundFields().connectionOptions(of: fields) == ["x-0-0"])
    }

    @Test("Headers that browsers alone send, and those of the gateway, tell no claim")
    func reservedClaims() {
        let reserved = ["Sec-Fetch-User", "sec-x", "X-Auth-Subject", "x_auth_email", "Cookie", "X-Forwarded-User"]
        for name in reserved { #expect(IdentityClaim.isReserved(name, identityNamespace: "X-Auth-"), "\(name)") }
        for name in ["X-Tenant", "X-Auth-Tenant", "Second"] {
            #expect(!IdentityClaim.isReserved(name, identityNamespace: "X-Auth-"), "\(name)")
        }
    }

    @Test(
        "What never passes for its name alone",
        arguments: [
            "TE", "Trailer", "Transfer-Encoding", "traceparent", "True-Client-IP", "Connection", "CF-Connecting-IP",
            "Client-IP", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Expect", "Forwarded", "Host",
            "Keep-Alive", "Upgrade", "X-Real-IP", "X-Client-IP", "X-Request-Id", "X-Rewrite-URL", "X-HTTP-Method",
            "X-Method-Override", "X-Cluster-Client-IP", "X-HTTP-Method-Override", "X-Forwarded", "X-Forwarded-For",
            "X-Forwarded-Anything", "X-Amz-Target", "X-Amz-Anything", "X-Original-URL", "X-Original-Anything",
        ])
    func neverPassing(name: String) throws {
        for spelt in [name, name.uppercased(), name.replacing("-", with: "_"), name.replacing("-", with: ".")] {
            #expect(try !InboundFields().passes(Self.field("\(spelt): 1"), connectionOptions: []), "\(spelt)")
        }
    }

    static let guarded = [
        "Authorization", "Cookie", "Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding",
        "Cache-Control", "Origin", "Range", "X-Amzn-Trace-Id", "tracestate", "X-CSRF-Token", "X-XSRF-Token",
        "X-API-Key",
    ]

    @Test(
        "What is for every recipient can't be listed away, and what only looks like it does not pass",
        arguments: guarded)
    func guardedFields(name: String) throws {
        var fields: HTTPFields = [.connection: "close, \(name)"]
        fields.append(try Self.field("\(name): 1"))
        #expect(InboundFields().connectionOptions(of: fields) == [])
        for lookAlike in [name.replacing("-", with: "_"), name.replacing("-", with: ".")] where lookAlike != name {
            #expect(try !InboundFields().passes(Self.field("\(lookAlike): 1"), connectionOptions: []), "\(lookAlike)")
        }
    }

    /// Row 36: a client must not take credentials or framing away from what the gateway decided by.
    @Test(
        "Connection can't list away credentials, framing or content",
        arguments: ["Authorization", "cookie", "Content-Length", "Host", "Content-Type", "transfer-encoding"])
    func protectedFields(name: String) throws {
        var fields: HTTPFields = [.connection: "close, " + name]
        fields.append(try Self.field(name + ": v"))
        #expect(InboundFields().connectionOptions(of: fields) == [])
    }
}
