import HTTPTypes
import Settings
import Testing

@testable import Admin
@testable import Telemetry

@Suite("What is asked of the admin listener")
struct AdminTests {
    @Test(
        "By method and path",
        arguments: [
            (.get, "/healthz", .page(.alive)), (.head, "/readyz", .page(.ready)),
            (.get, "/metrics?x=1", .page(.metrics)),
            (.get, "/history", .page(.history)), (.put, "/history", .methodNotAllowed([.get, .head])),
            (.get, "/status", .page(.status)), (.post, "/status", .methodNotAllowed([.get, .head])),
            (.post, "/reload", .change(.reload)), (.get, "/reload", .methodNotAllowed([.post])),
            (.post, "/log-level", .change(.logLevel)), (.post, "/drain", .change(.drain(true))),
            (.delete, "/drain", .change(.drain(false))), (.put, "/drain", .methodNotAllowed([.post, .delete])),
            (.post, "/upstreams/api/one/drain", .change(.server(true, upstream: "api", server: "one"))),
            (
                .delete, "/upstreams/api/http%3A%2F%2F10.0.0.1%3A80/drain",
                .change(.server(false, upstream: "api", server: "http://10.0.0.1:80"))
            ),
            (.get, "/upstreams/api/one/drain", .methodNotAllowed([.post, .delete])),
            (.post, "/upstreams/api/%zz/drain", .change(.server(true, upstream: "api", server: "%zz"))),
            (.post, "/upstreams/api/%4/drain", .change(.server(true, upstream: "api", server: "%4"))),
            // A sign is no digit (RFC 3986, 2.1).
            (.post, "/upstreams/api/%+A/drain", .change(.server(true, upstream: "api", server: "%+A"))),
            (.post, "/upstreams/api/%-0/drain", .change(.server(true, upstream: "api", server: "%-0"))),
            (.post, "/upstreams/api/drain", .notFound), (.post, "/upstreams/a/b/c/drain", .notFound),
            (.get, "/", .page(.dashboard)), (.head, "/?x", .page(.dashboard)),
            (.post, "/", .methodNotAllowed([.get, .head])), (.get, "", .notFound), (.get, "//", .notFound),
            (.get, "/statusx", .notFound), (.get, "//status", .notFound), (.get, "status", .notFound),
        ] as [(HTTPRequest.Method, String, AdminCall)])
    func calls(method: HTTPRequest.Method, path: String, expected: AdminCall) {
        #expect(AdminCall(method, path: path) == expected)
    }

    @Test(
        "Users and sessions, by method, path and query",
        arguments: [
            (.get, "/users", .find(matching: nil, after: "", limit: 100)),
            (
                .get, "/users?matching=ada%2Bx%40example.com&after=5f&limit=7",
                .find(matching: "ada+x@example.com", after: "5f", limit: 7)
            ),
            (.get, "/users?matching=ada+x@example.com", .find(matching: "ada+x@example.com", after: "", limit: 100)),
            (.get, "/users?matching=%+Aada", .find(matching: "%+Aada", after: "", limit: 100)),
            (.get, "/users?limit=0", .malformed("limit must be 1 to 1000")),
            (.get, "/users?limit=1001", .malformed("limit must be 1 to 1000")),
            (.get, "/users?limit=x", .malformed("limit must be 1 to 1000")),
            (.get, "/users?email=a", .malformed("there is no such parameter; known: matching, after, limit")),
            (.get, "/users?after=a&after=b", .malformed("after is there twice")),
            (.get, "/users/5f0c", .show("5f0c")), (.put, "/users/5f0c/role", .setRole("5f0c")),
            (.post, "/users/5f0c/disable", .setDisabled(true, "5f0c")),
            (.delete, "/users/5f0c/disable", .setDisabled(false, "5f0c")),
            (.get, "/sessions?subject=8c%2F3b", .sessions(of: "8c/3b", issuer: nil)),
            (.delete, "/sessions?subject=8c&issuer=pool", .endSessions(of: "8c", issuer: "pool")),
            (.delete, "/sessions/1f2e", .endSession("1f2e")),
            (.delete, "/sessions/1f2e?wait=5", .endSession("1f2e", wait: 5)),
            (.delete, "/sessions?subject=8c&wait=30", .endSessions(of: "8c", issuer: nil, wait: 30)),
            (.post, "/users/5f0c/disable?wait=1", .setDisabled(true, "5f0c", wait: 1)),
            (.put, "/users/5f0c/role?wait=1", .setRole("5f0c", wait: 1)),
            (.delete, "/sessions/1f2e?wait=0", .malformed("wait must be 1 to 30 seconds")),
            (.delete, "/sessions/1f2e?wait=31", .malformed("wait must be 1 to 30 seconds")),
            (.delete, "/sessions?subject=8c&wait=x", .malformed("wait must be 1 to 30 seconds")),
            (.get, "/sessions?subject=8c&wait=1", .malformed("there is no such parameter; known: subject, issuer")),
            // All of nobody's sessions are not all sessions.
            (.delete, "/sessions", .malformed("say whose sessions: ?subject=…")),
            (.delete, "/sessions?subject=", .malformed("say whose sessions: ?subject=…")),
            (
                .delete, "/sessions?subject=a%00b",
                .malformed("subject must be at most 1024 bytes, without U+0000")
            ),
            (
                .get, "/sessions?subject=" + String(repeating: "a", count: 1025),
                .malformed("subject must be at most 1024 bytes, without U+0000")
            ),
            (
                .delete, "/sessions?subject=" + String(repeating: "a", count: 1024),
                .endSessions(of: String(repeating: "a", count: 1024), issuer: nil)
            ),
            (.get, "/sessions?user=8c", .malformed("there is no such parameter; known: subject, issuer")),
        ] as [(HTTPRequest.Method, String, AdminUserCall)])
    func userCalls(method: HTTPRequest.Method, path: String, expected: AdminUserCall) {
        #expect(AdminCall(method, path: path) == .change(.users(expected)))
    }

    @Test(
        "What a token must be allowed to do; nothing for probes and for the empty dashboard",
        arguments: [
            (.get, "/", nil), (.get, "/healthz", nil), (.get, "/readyz", nil), (.get, "/metrics", .metrics),
            (.get, "/status", .read), (.get, "/history", .read), (.post, "/reload", .reload),
            (.post, "/log-level", .logLevel), (.post, "/drain", .drain), (.delete, "/drain", .drain),
            (.post, "/upstreams/api/one/drain", .drain),
            (.get, "/users", .readUsers), (.get, "/users/5f0c", .readUsers),
            (.get, "/users?limit=x", .readUsers), (.get, "/sessions?subject=8c", .readUsers),
            (.put, "/users/5f0c/role", .users), (.post, "/users/5f0c/disable", .users),
            (.delete, "/users/5f0c/disable", .users), (.delete, "/sessions/1f2e", .users),
            (.delete, "/sessions?subject=8c", .users),
        ] as [(HTTPRequest.Method, String, AdminRight?)])
    func rights(method: HTTPRequest.Method, path: String, expected: AdminRight?) {
        #expect(AdminCall(method, path: path).right == expected)
    }

    @Test(
        "What users and sessions are not asked by",
        arguments: [
            (.post, "/users", .methodNotAllowed([.get])), (.delete, "/users/5f0c", .methodNotAllowed([.get])),
            (.post, "/users/5f0c/role", .methodNotAllowed([.put])),
            (.put, "/users/5f0c/disable", .methodNotAllowed([.post, .delete])),
            (.post, "/sessions?subject=a", .methodNotAllowed([.get, .delete])),
            (.get, "/sessions/1f2e", .methodNotAllowed([.delete])),
            (.get, "/users/", .notFound), (.delete, "/sessions/", .notFound), (.put, "/users//role", .notFound),
            (.get, "/users/5f0c/tokens", .notFound), (.delete, "/sessions/a/b", .notFound),
        ] as [(HTTPRequest.Method, String, AdminCall)])
    func notUserCalls(method: HTTPRequest.Method, path: String, expected: AdminCall) {
        #expect(AdminCall(method, path: path) == expected)
    }

    @Test(
        "The last so many are kept, the newest first",
        arguments: [(0, []), (2, [1, 0]), (3, [2, 1, 0]), (5, [4, 3, 2])])
    func ring(count: Int, expected: [Int]) {
        var ring = Ring<Int>(capacity: 3)
        for number in 0..<count { ring.add(number) }
        #expect(ring.newestFirst == expected)
    }
}
