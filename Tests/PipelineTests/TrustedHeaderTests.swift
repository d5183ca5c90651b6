import FoundationEssentials
import HTTPTypes
import Testing

@testable import Pipeline

@Suite("TrustedHeader")
struct TrustedHeaderTests {
    /// A name that the pattern stands for: `x-envoy-*` stands for `x-envoy-a`.
    static func example(of pattern: String) -> String {
        pattern.hasSuffix("*") ? pattern.dropLast() + "a" : pattern
    }

    static func spellings(of name: String) -> [String] {
        let separators = ["-", "_", ".", "~", "!", "|", "'", "^"]
        let words = name.split(separator: "-", omittingEmptySubsequences: false)
        let capitals = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }
        var spelt = separators.map { words.joined(separator: $0) } + separators.map { capitals.joined(separator: $0) }
        // Script_Name, X-Forwarded_Host: one separator alone.
        if let dash = name.lastIndex(of: "-") { spelt.append("\(name[..<dash])_\(name[name.index(after: dash)...])") }
        return spelt + [name.uppercased(), name.uppercased().replacing("-", with: "_")]
    }

    static func passes(_ name: String, _ inbound: InboundFields = InboundFields()) throws -> Bool {
        inbound.passes(
            HTTPField(name: try #require(HTTPField.Name(name)), value: "mallory"), connectionOptions: [])
    }

    @Test(
        "No client's header that a server believes reaches a backend, however it is spelt", arguments: TrustedHeader.all
    )
    func removed(header: TrustedHeader) throws {
        for name in Self.spellings(of: Self.example(of: header.pattern)) {
            #expect(try !Self.passes(name), "\(name)")
            #expect(TrustedHeader.named(name) != nil, "\(name)")
        }
    }

    /// The names that were found to be believed by real servers, and others of their kind.
    static let known: [(TrustedHeader.Meaning, String)] = [
        (.path, "script-name path-info x-script-name x-forwarded-prefix daphne-root-path request-uri"),
        (.path, "x-original-url x-rewrite-url x-original-uri"),
        (.method, "x-http-method x-http-method-override x-method-override"),
        (.host, "x-host x-http-host-override l5d-dst-override"), (.scheme, "x-scheme"),
        (.identity, "grpc-metadata-x-auth-subject"),
        (.identity, "proxy remote-user x-remote-user x-auth-request-user x-auth-request-email"),
        (.identity, "http-remote-user http-x-auth-subject x-ssl-client-cert ssl-client-s-dn x-client-cert-subject"),
        (.identity, "x-amzn-oidc-data x-ms-client-principal x-ms-client-principal-id x-goog-iap-jwt-assertion"),
        (.identity, "x-goog-authenticated-user-email cf-access-jwt-assertion tailscale-user-login"),
        (.clientAddress, "x-forwarded-user x-forwarded-email x-forwarded-groups x-forwarded-preferred-username"),
        (.clientAddress, "x-forwarded-access-token x-real-ip x-client-ip x-cluster-client-ip true-client-ip"),
        (.clientAddress, "cf-connecting-ip fastly-client-ip x-originating-ip x-remote-ip x-remote-addr"),
        (.internalRedirect, "x-accel-redirect x-accel-mapping x-sendfile x-sendfile-type x-envoy-retry-on"),
        (.internalRedirect, "x-middleware-subrequest"), (.identity, "remote-addr"),
    ]

    @Test("Each is known by what it is taken for", arguments: known)
    func meanings(meaning: TrustedHeader.Meaning, names: String) {
        for name in names.split(separator: " ") {
            #expect(TrustedHeader.named(String(name))?.meaning == meaning, "\(name)")
        }
    }

    @Test("An entry is a normalised name, given once, with its readers")
    func entries() {
        for header in TrustedHeader.all {
            let name = Self.example(of: header.pattern)
            #expect(HeaderNames.normalised(name) == name && !header.readers.isEmpty, "\(header.pattern)")
            #expect(!TrustedHeader.isGatewaysOwn(name), "\(header.pattern) is removed in any case")
        }
        #expect(Set(TrustedHeader.all.map(\.pattern)).count == TrustedHeader.all.count)
        #expect(TrustedHeader.all.count > 200)
    }

    /// The table of docs/identity.md, to be replaced by this one after a change.
    static var table: String {
        TrustedHeader.Meaning.allCases.map { meaning in
            let names = TrustedHeader.all.filter { $0.meaning == meaning }.map(\.pattern)
            return "| \(meaning) | \(names.sorted().map { "`\($0)`" }.joined(separator: " ")) |\n"
        }.joined()
    }

    @Test("The documentation lists them all")
    func documented() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/identity.md").path
        let isThere = try String(contentsOfFile: path, encoding: .utf8).contains(Self.table)
        #expect(isThere, "\(Self.table)")
    }

    @Test("A header that is let through by name passes in that spelling alone")
    func letThrough() throws {
        let inbound = InboundFields(letThrough: ["X-Rewrite-URL", "remote-user"])
        for name in ["x-rewrite-url", "X-REWRITE-URL", "Remote-User"] { #expect(try Self.passes(name, inbound)) }
        for name in ["x_rewrite_url", "X-Rewrite_URL", "remote.user", "x-rewrite-uri", "remote-users"] {
            #expect(try !Self.passes(name, inbound), "\(name)")
        }
    }

    @Test("What is the gateway's own is never let through")
    func notLetThrough() throws {
        let own = ["x-auth-subject", "x-tenant", "host", "connection", "x-forwarded-for", "x-request-id", "x-amz-date"]
        let inbound = InboundFields(alsoSet: ["X-Tenant"], letThrough: own)
        for name in own { #expect(try !Self.passes(name, inbound), "\(name)") }
        for name in own.dropFirst(2) { #expect(TrustedHeader.isGatewaysOwn(name), "\(name)") }
    }

    @Test("A namespace that is a trusted header's stays the gateway's, whatever is let through")
    func namespace() throws {
        let inbound = InboundFields(namespace: "Remote-", letThrough: ["remote-user"])
        #expect(try !Self.passes("Remote-User", inbound))
    }

    @Test(
        "What clients have to say passes",
        arguments: [
            "accept", "accept-encoding", "accept-language", "authorization", "content-type", "content-length", "cookie",
            "user-agent", "origin", "referer", "if-none-match", "if-match", "range", "priority", "dnt", "te-st",
            "sec-fetch-site", "sec-ch-ua", "sec-websocket-key", "upgrade-insecure-requests", "save-data", "via",
            "x-requested-with", "x-api-key", "x-access-token", "x-id-token", "x-csrf-token", "x-app-version",
            "x-device-id",
            "x-client-version", "x-client-id", "x-platform", "x-user-id", "x-locale", "x-correlation-id", "x-trace-id",
            "x-b3-traceid", "b3", "tracestate", "baggage", "x-amzn-trace-id", "x-cloud-trace-context", "sentry-trace",
            "x-firebase-appcheck", "x-goog-api-key", "x-ms-request-id", "x-vercel-protection-bypass", "idempotency-key",
            "apollo-require-preflight", "grpc-timeout", "depth", "timezone", "x-timezone", "http2-settings", "remote",
            "x-middleware-prefetch", "next-action", "x-hasura-role", "x-signature", "x-http-client", "proxyless",
        ])
    func ordinary(name: String) throws {
        #expect(try Self.passes(name))
        #expect(TrustedHeader.named(name) == nil)
    }
}
