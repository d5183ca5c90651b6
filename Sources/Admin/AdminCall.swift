internal import Encoding
internal import HTTPTypes
internal import Settings

/// A call of the admin listener.
enum AdminCall: Equatable {
    /// A resource that the admin listener serves.
    enum Page: Equatable {
        /// `alive`, `ready` and `dashboard` need no token: probes have none, and the dashboard, which contains no data,
        /// asks for one.
        case alive, ready, metrics, status, history, dashboard
    }

    case page(Page)
    case change(AdminChange)
    case notFound
    case methodNotAllowed([HTTPRequest.Method])

    /// - Parameter path: the path with its query. Only calls about users and sessions use the query.
    init(_ method: HTTPRequest.Method, path: String) {
        let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) ?? path.endIndex
        let segments = path.utf8[..<mark].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let text = segments.dropFirst().map { Self.decoded(Substring($0)) }
        if let call = AdminUserCall.call(method, text, query: Substring(path.utf8[mark...].dropFirst())) {
            self = call
            return
        }
        switch text.count {
        case 1: self = Self.single(method, text.first ?? "")
        case 4 where text.first.hasSameBytes(as: "upstreams") && text.last.hasSameBytes(as: "drain"):
            let names = Array(text.dropFirst().prefix(2))
            self = Self.switched(method) { .server($0, upstream: names[0], server: names[1]) }
        default: self = .notFound
        }
    }

    private static func single(_ method: HTTPRequest.Method, _ name: String) -> AdminCall {
        let pages: [ExactText: Page] = [
            "": .dashboard, "healthz": .alive, "readyz": .ready, "metrics": .metrics, "status": .status,
            "history": .history,
        ]
        let name = ExactText(name)
        if let page = pages[name] {
            return method == .get || method == .head ? .page(page) : .methodNotAllowed([.get, .head])
        }
        switch name {
        case "reload": return method == .post ? .change(.reload) : .methodNotAllowed([.post])
        case "log-level": return method == .post ? .change(.logLevel) : .methodNotAllowed([.post])
        case "drain": return switched(method) { .drain($0) }
        default: return .notFound
        }
    }

    /// The call of a path on which `POST` begins a change and `DELETE` ends it.
    static func switched(_ method: HTTPRequest.Method, _ change: (Bool) -> AdminChange) -> AdminCall {
        switch method {
        case .post: .change(change(true))
        case .delete: .change(change(false))
        default: .methodNotAllowed([.post, .delete])
        }
    }

    /// Returns the segment without percent-encoding (RFC 3986 §2.1), or unchanged if the encoding is malformed.
    static func decoded(_ segment: Substring) -> String {
        PercentEncoding.decode(segment) ?? String(segment)
    }
}

extension AdminCall {
    /// The right that a token needs for this call; nil if no token is required or the call does not exist.
    var right: AdminRight? {
        switch self {
        case .page(.metrics): .metrics
        case .page(.status), .page(.history): .read
        case .page: nil
        case .change(.reload): .reload
        case .change(.logLevel): .logLevel
        case .change(.drain), .change(.server): .drain
        case .change(.users(let call)): call.right
        case .notFound, .methodNotAllowed: nil
        }
    }
}

/// A change to the running gateway.
enum AdminChange: Equatable {
    case reload
    /// Sets the log level that the body contains.
    case logLevel
    /// Begins or ends draining: whether load balancers must send no traffic to the gateway.
    case drain(Bool)
    /// Begins or ends the drain of an upstream server: whether it receives no new requests.
    case server(Bool, upstream: String, server: String)
    /// A call about users and sessions. Calls that only read are included, because they need a token as well.
    case users(AdminUserCall)
}
