internal import Gateway
internal import HTTPTypes
internal import Pipeline
internal import Settings
internal import Store

/// Where and when tokens are to be judged.
package struct OfflineQuestion: Sendable {
    /// The name of the route whose rules hold; nil for the one that takes `path`.
    package var route: String?
    /// The path of a request; nil for none, with which `{sub}` in a route's path is not asked for.
    package var path: String?
    /// The method of that request.
    package var method: String
    /// The host that it names; nil for none.
    package var host: String?
    /// Seconds since 1970; nil for the present.
    package var now: Int64?
    /// Whether what the state directory says to be revoked counts.
    package var looksAtRevocations: Bool

    /// With neither route nor path every issuer and kind of token is good enough, and nothing further required.
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

/// The rules of the route that is asked about.
struct OfflineRules: Sendable {
    let acceptance: TokenAcceptance
    private let route: Route?
    private let path: RequestPath?

    /// - Throws: ``StartupError`` where there is no such route, or one that looks at no token.
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

    /// Why a verified token is not enough; nil when it is.
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
