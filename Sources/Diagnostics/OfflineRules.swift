internal import Gateway
internal import HTTPTypes
internal import Pipeline
internal import Settings
internal import Store

/// The request and the time for which tokens are verified.
package struct OfflineQuestion: Sendable {
    /// The name of the route whose rules apply; nil: the route that matches `path`.
    package var route: String?
    /// The path of a request; nil: none, and `{sub}` in a route's path is not checked.
    package var path: String?
    /// The method of that request.
    package var method: String
    /// The host that the request names; nil if none.
    package var host: String?
    /// The time in seconds since 1970; nil: the current time.
    package var now: Int64?
    /// Whether stored revocations are taken into account.
    package var looksAtRevocations: Bool

    /// Without a route and a path, tokens of every issuer and kind are accepted, and no requirements apply.
    package init(
        route: String? = nil, path: String? = nil, method: String = "GET", host: String? = nil,
        now: Int64? = nil,
        looksAtRevocations: Bool = true
    ) {
        self.route = route
        self.path = path
        self.method = method
        self.host = host
        self.now = now
        self.looksAtRevocations = looksAtRevocations
    }
}

/// The rules of the selected route.
struct OfflineRules: Sendable {
    let acceptance: TokenAcceptance
    private let route: Route?
    private let path: RequestPath?

    /// - Throws: ``StartupError`` if there is no such route, or if the route is public.
    init(_ settings: GatewaySettings, _ issuers: [Issuer], _ question: OfflineQuestion) throws {
        guard question.route != nil || question.path != nil else {
            (acceptance, route, path) = (TokenAcceptance(tokenUses: Set(TokenUse.allCases)), nil, nil)
            return
        }
        let table = try Wiring.gate(settings, issuers: issuers).routes
        path = try question.path.map(Self.parse)
        let route = try path.map { try Self.route(of: $0, question, table) } ?? Self.named(question.route, table)
        if let name = question.route, name != route.name {
            throw StartupError(description: "this request is for the route \"\(route.name)\"")
        }
        guard route.access != .public else {
            throw StartupError(description: "the route \"\(route.name)\" is public and looks at no token")
        }
        self.route = route
        acceptance = TokenAcceptance(issuers: route.issuers, tokenUses: route.tokenUses)
    }

    /// The reason why a verified token is not sufficient; nil if it is.
    func denial(of token: VerifiedToken, now: Int64) -> PolicyDenial? {
        if let denial = route?.requirements?.lastingDenial(of: token) { return denial }
        if let path, let route, !path.isOf(subject: token.subject, in: route) { return .subjectMismatch }
        return route?.requirements?.isRecent(token, now: now) == false ? .authenticationTooOld : nil
    }

    private static func named(_ name: String?, _ table: RouteTable) throws(StartupError) -> Route {
        guard let route = table.routes.first(where: { $0.name == name }) else {
            throw StartupError(description: "no route is called \"\(name ?? "")\"")
        }
        return route
    }

    private static func parse(_ text: String) throws(StartupError) -> RequestPath {
        do throws(PathFault) {
            return try RequestPath.parse(text)
        } catch {
            throw StartupError(description: "no request can have this path: \(error.rawValue)")
        }
    }

    private static func route(
        of path: RequestPath, _ question: OfflineQuestion, _ table: RouteTable
    ) throws(StartupError) -> Route {
        guard let method = HTTPRequest.Method(rawValue: question.method) else {
            throw StartupError(description: "\"\(question.method)\" is no method")
        }
        switch table.match(method: method, path: path, authority: question.host) {
        case .route(let index): return table.routes[index]
        case .methodNotAllowed: throw StartupError(description: "no route takes \(method.rawValue) for this path")
        case .none: throw StartupError(description: "no route takes this path")
        }
    }
}
