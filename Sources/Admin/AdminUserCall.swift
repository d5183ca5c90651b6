internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Settings

/// A call of the admin listener about the users kept here, or about sessions.
enum AdminUserCall: Equatable {
    /// Users by id, from behind `after` on; `matching` is whose id or subject it is, or what address or name begins
    /// with.
    case find(matching: String?, after: String, limit: Int)
    case show(String)
    /// The role is in the body.
    case setRole(String, wait: Wait = nil)
    /// Whether a user is locked out.
    case setDisabled(Bool, String, wait: Wait = nil)
    case sessions(of: String, issuer: String?)
    case endSession(String, wait: Wait = nil)
    case endSessions(of: String, issuer: String?, wait: Wait = nil)
    /// The query is invalid; the text says why.
    case malformed(String)

    /// For how many seconds the response waits until all gateways go by the change; nil: it does not.
    typealias Wait = Int64?

    /// A malformed call takes what the least one does.
    var right: AdminRight {
        switch self {
        case .find, .show, .sessions, .malformed: .readUsers
        case .setRole, .setDisabled, .endSession, .endSessions: .users
        }
    }

    /// The longest wait.
    static let longestWait: Int64 = 30

    /// The most users that one answer tells of.
    static let largestPage = 1000
}

extension AdminUserCall {
    /// - Parameters:
    ///   - path: its segments, decoded.
    ///   - query: without the question mark.
    /// - Returns: nil for a path that is about neither users nor sessions.
    static func call(_ method: HTTPRequest.Method, _ path: [String], query: Substring) -> AdminCall? {
        guard path.first?.isOne(of: ["users", "sessions"]) == true else { return nil }
        // A name that is not there would be nobody's.
        guard path.allSatisfy({ !$0.isEmpty }) else { return .notFound }
        switch (path.count, ExactText(path[0]), path.last.exact) {
        case (1, "users", _): return only(.get, method) { find(AdminQuery(query)) }
        case (2, "users", _): return only(.get, method) { .show(path[1]) }
        case (3, "users", "role"): return only(.put, method) { waiting(query) { .setRole(path[1], wait: $0) } }
        case (3, "users", "disable"):
            return AdminCall.switched(method) { begins in
                .users(waiting(query) { .setDisabled(begins, path[1], wait: $0) })
            }
        case (1, "sessions", _): return sessions(method, AdminQuery(query))
        case (2, "sessions", _): return only(.delete, method) { waiting(query) { .endSession(path[1], wait: $0) } }
        default: return .notFound
        }
    }

    private static func only(
        _ allowed: HTTPRequest.Method, _ method: HTTPRequest.Method, _ call: () -> AdminUserCall
    ) -> AdminCall {
        method == allowed ? .change(.users(call())) : .methodNotAllowed([allowed])
    }

    /// A call whose query says nothing but how long it waits.
    private static func waiting(_ query: Substring, _ call: (Wait) -> AdminUserCall) -> AdminUserCall {
        let query = AdminQuery(query)
        if let error = query.error(knowing: ["wait"]) { return .malformed(error) }
        return wait(query, call)
    }

    private static func wait(_ query: AdminQuery, _ call: (Wait) -> AdminUserCall) -> AdminUserCall {
        guard let text = query["wait"] else { return call(nil) }
        guard let seconds = Int64(text), (1...longestWait).contains(seconds) else {
            return .malformed("wait must be 1 to \(longestWait) seconds")
        }
        return call(seconds)
    }

    private static func find(_ query: AdminQuery) -> AdminUserCall {
        if let error = query.error(knowing: ["matching", "after", "limit"]) { return .malformed(error) }
        let limit = query["limit"].map { Int($0) ?? 0 } ?? 100
        guard (1...largestPage).contains(limit) else { return .malformed("limit must be 1 to \(largestPage)") }
        return .find(matching: query["matching"], after: query["after"] ?? "", limit: limit)
    }

    private static func sessions(_ method: HTTPRequest.Method, _ query: AdminQuery) -> AdminCall {
        guard method == .get || method == .delete else { return .methodNotAllowed([.get, .delete]) }
        let known = method == .get ? ["subject", "issuer"] : ["subject", "issuer", "wait"]
        if let error = query.error(knowing: known) { return .change(.users(.malformed(error))) }
        guard let subject = query["subject"], !subject.isEmpty else {
            return .change(.users(.malformed("say whose sessions: ?subject=…")))
        }
        // A store that refuses one entry of the revocation list would keep those that wait with it as well.
        guard Revocation.isValue(subject) else {
            return .change(.users(.malformed("subject must be at most 1024 bytes, without U+0000")))
        }
        let issuer = query["issuer"]
        guard method == .delete else { return .change(.users(.sessions(of: subject, issuer: issuer))) }
        return .change(.users(wait(query) { .endSessions(of: subject, issuer: issuer, wait: $0) }))
    }
}

/// The parameters of a query, by their names. A plus sign is one: addresses have it.
struct AdminQuery {
    private let parameters: [(name: String, value: String)]

    init(_ query: Substring) {
        parameters = query.utf8.split(separator: UInt8(ascii: "&")).map { part in
            let name = part.prefix { $0 != UInt8(ascii: "=") }
            let value = part.dropFirst(name.count + 1)
            return (AdminCall.decoded(Substring(name)), AdminCall.decoded(Substring(value)))
        }
    }

    subscript(name: String) -> String? { parameters.first { $0.name.hasSameBytes(as: name) }?.value }

    /// The error in the query; nil if there is none. A misspelt parameter is an error and not an absent one.
    func error(knowing names: [String]) -> String? {
        for (index, parameter) in parameters.enumerated() {
            guard parameter.name.isOne(of: names) else {
                return "there is no such parameter; known: \(names.joined(separator: ", "))"
            }
            guard !parameters[..<index].contains(where: { $0.name.hasSameBytes(as: parameter.name) }) else {
                return "\(parameter.name) is there twice"
            }
        }
        return nil
    }
}
