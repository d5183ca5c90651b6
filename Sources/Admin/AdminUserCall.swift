internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Settings

/// An admin listener call about stored users, or about sessions.
enum AdminUserCall: Equatable {
    /// Lists users in the order of their ids, after the id `after`. `matching` is a user's id or subject, or a prefix
    /// of an email address or name.
    case find(matching: String?, after: String, limit: Int)
    case show(String)
    /// Sets the role that the body contains.
    case setRole(String, wait: Wait = nil)
    /// Disables or enables a user.
    case setDisabled(Bool, String, wait: Wait = nil)
    case sessions(of: String, issuer: String?)
    case endSession(String, wait: Wait = nil)
    case endSessions(of: String, issuer: String?, wait: Wait = nil)
    /// The query is invalid. The text is the reason.
    case malformed(String)

    /// The time in seconds for which the response waits until all gateways apply the change; nil: it does not wait.
    typealias Wait = Int64?

    /// The right that the call needs. A malformed call needs the lesser one.
    var right: AdminRight {
        switch self {
        case .find, .show, .sessions, .malformed: .readUsers
        case .setRole, .setDisabled, .endSession, .endSessions: .users
        }
    }

    /// The maximum wait in seconds.
    static let longestWait: Int64 = 30

    /// The maximum number of users in one response.
    static let largestPage = 1000
}

extension AdminUserCall {
    /// - Parameters:
    ///   - path: the decoded segments of the path.
    ///   - query: the query without the question mark.
    /// - Returns: nil if the path is about neither users nor sessions.
    static func call(_ method: HTTPRequest.Method, _ path: [String], query: Substring) -> AdminCall? {
        guard path.first?.isOne(of: ["users", "sessions"]) == true else { return nil }
        // No user and no session has an empty id.
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

    /// Returns a call whose query may contain only `wait`.
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
        // If the store refused one entry of the revocation list, the entries that are written together with it would
        // fail as well.
        guard Revocation.isValue(subject) else {
            return .change(.users(.malformed("subject must be at most 1024 bytes, without U+0000")))
        }
        let issuer = query["issuer"]
        guard method == .delete else { return .change(.users(.sessions(of: subject, issuer: issuer))) }
        return .change(.users(wait(query) { .endSessions(of: subject, issuer: issuer, wait: $0) }))
    }
}

/// The parameters of a query by name. A plus sign is literal, because addresses contain it.
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

    /// The error in the query; nil if there is none. Unknown and repeated parameters are errors.
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
