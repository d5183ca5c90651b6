import HTTPTypes
import Testing

@testable import Gateway

@Suite("What is asked of the admin listener")
struct AdminTests {
    @Test(
        "By method and path",
        arguments: [
            (.get, "/healthz", .page(.alive)), (.head, "/readyz", .page(.ready)),
            (.get, "/metrics?x=1", .page(.metrics)),
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
            (.post, "/upstreams/api/drain", .notFound), (.post, "/upstreams/a/b/c/drain", .notFound),
            (.get, "/", .page(.dashboard)), (.head, "/?x", .page(.dashboard)),
            (.post, "/", .methodNotAllowed([.get, .head])), (.get, "", .notFound), (.get, "//", .notFound),
            (.get, "/statusx", .notFound), (.get, "//status", .notFound), (.get, "status", .notFound),
        ] as [(HTTPRequest.Method, String, AdminCall)])
    func calls(method: HTTPRequest.Method, path: String, expected: AdminCall) {
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
