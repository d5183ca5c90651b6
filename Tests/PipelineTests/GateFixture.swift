import Cryptography
import HTTPTypes
import Pipeline
import Testing

/// A gate with one route of each kind before two pools.
struct GateFixture {
    static let backend = Destination.upstream("api")
    static let peer = "203.0.113.7"
    static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    let tokens: VerifyFixture
    let gate: Gate
    let cache = TokenCache()

    init() throws {
        tokens = try VerifyFixture()
        let routes = [
            Route(
                name: "login", pattern: try RoutePattern("/login"), methods: [.post], access: .public,
                destination: .endpoint(0)),
            Route(
                name: "me", pattern: try RoutePattern("/me"), methods: [.get], access: .required,
                destination: .endpoint(2)),
            Route(
                name: "leave", pattern: try RoutePattern("/leave"), methods: [.post], access: .optional,
                admitsEndedTokens: true, destination: .endpoint(3)),
            Route(name: "public", pattern: try RoutePattern("/public/**"), access: .public, destination: Self.backend),
            Route(
                name: "optional", pattern: try RoutePattern("/optional"), access: .optional, destination: Self.backend),
            Route(
                name: "required", pattern: try RoutePattern("/required"), access: .required, destination: Self.backend),
            Route(
                name: "id", pattern: try RoutePattern("/id"), access: .required, tokenUses: [.id],
                destination: Self.backend),
            Route(
                name: "other", pattern: try RoutePattern("/other"), access: .required, issuers: ["other"],
                destination: Self.backend),
            Route(
                name: "forwarding", pattern: try RoutePattern("/forwarding"), access: .required,
                destination: Self.backend, forwardToken: true),
            Route(
                name: "reading", pattern: try RoutePattern("/reading"), methods: [.get], access: .public,
                destination: Self.backend),
        ]
        gate = Gate(
            routes: try RouteTable(routes),
            verifier: TokenVerifier(issuers: [VerifyFixture.pool, VerifyFixture.otherPool]),
            cognito: CognitoGuard(hostedDomains: ["login.example.com"]))
    }

    static func request(
        _ path: String, _ fields: [(String, String)] = [], method: HTTPRequest.Method = .get,
        authority: String? = "api.example.com"
    ) throws -> HTTPRequest {
        var request = HTTPRequest(method: method, scheme: "https", authority: authority, path: path)
        for (name, value) in fields {
            request.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return request
    }

    func decide(
        _ request: HTTPRequest, keySets: [KeySet?]? = nil, keysWereLookedUp: Bool = false,
        now: Int64 = VerifyFixture.now
    ) throws -> Decision {
        let trace = try #require(TraceContext(parsing: Self.traceparent))
        let context = RequestContext(
            peer: Self.peer, scheme: "https", requestID: "id-1", trace: trace, now: now,
            keysWereLookedUp: keysWereLookedUp)
        return gate.decide(request, context, cache: cache, keySets: keySets ?? [tokens.keySet, tokens.otherKeySet])
    }

    func outcome(
        _ path: String, _ fields: [(String, String)] = [], method: HTTPRequest.Method = .get,
        keySets: [KeySet?]? = nil, keysWereLookedUp: Bool = false, now: Int64 = VerifyFixture.now
    ) throws -> Outcome {
        let request = try Self.request(path, fields, method: method)
        let decision = try decide(request, keySets: keySets, keysWereLookedUp: keysWereLookedUp, now: now)
        return Outcome(decision, gate)
    }
}

/// A decision as a value that can be compared.
enum Outcome: Equatable {
    case forward(route: String, upstream: String, target: String, subject: String?)
    /// - Parameter ended: why the token counts no more, with its subject where that is handed on.
    case endpoint(Int, route: String, subject: String?, ended: String? = nil)
    case refuse(Int, GatewayError, reason: String, route: String?, headers: HTTPFields)
    case directCognito(operation: String?)
    case needsKeys(issuerIndex: Int, keyID: String)
    case needsAttributes(token: String, issuer: String)
    case preflight(HTTPFields, route: String)

    init(_ decision: consuming Decision, _ gate: Gate) {
        switch consume decision {
        case .forward(let permit):
            self = .forward(
                route: gate.routes.routes[permit.routeIndex].name, upstream: gate.upstream(of: permit),
                target: permit.target, subject: permit.subject)
        case .endpoint(let number, let index, let token):
            let ended: String? =
                switch token?.ended {
                case .expired: "expired"
                case .revoked(let token): "revoked: \(token.subject)"
                case nil: nil
                }
            self = .endpoint(
                number, route: gate.routes.routes[index].name, subject: token?.valid?.subject, ended: ended)
        case .refuse(let refusal, let index):
            self = .refuse(
                refusal.error.status.code, refusal.error, reason: refusal.reason.code,
                route: index.map { gate.routes.routes[$0].name }, headers: refusal.headers)
        case .preflight(let fields, let index):
            self = .preflight(fields, route: gate.routes.routes[index].name)
        case .directCognito(let call):
            self = .directCognito(operation: call.operation)
        case .needsKeys(let issuerIndex, let keyID):
            self = .needsKeys(issuerIndex: issuerIndex, keyID: keyID)
        case .needsAttributes(let question):
            self = .needsAttributes(token: question.token.exposeText(), issuer: question.issuerName)
        }
    }

    static func unauthorized(
        _ reason: String, _ error: GatewayError = .notAuthorized, route: String?, challenge: String? = nil
    ) -> Outcome {
        .refuse(
            401, error, reason: reason, route: route,
            headers: [.wwwAuthenticate: challenge ?? "Bearer error=\"invalid_token\""])
    }
}

extension Gate {
    /// The name of the upstream that a permit's route leads to.
    fileprivate func upstream(of permit: borrowing Permit) -> String {
        guard case .upstream(let name) = rules[permit.routeIndex].destination else { return "" }
        return name
    }
}
