package import HTTPTypes

/// The gateway's decision about a request.
package enum Decision: ~Copyable {
    case forward(Permit)
    /// The gateway itself answers: the endpoint's number, and the token if the endpoint requires one.
    case endpoint(Int, routeIndex: Int, EndpointToken?)
    /// A CORS preflight, which the gateway answers: 204 with these fields.
    case preflight(HTTPFields, routeIndex: Int)
    /// - Parameter routeIndex: nil if no route was found.
    case refuse(Refusal, routeIndex: Int?)
    case directCognito(DirectCognitoCall)
    /// The token names a key that is not in the key set: decide again after looking it up.
    case needsKeys(issuerIndex: Int, keyID: String)
    /// The token is new, and its user's attributes must be read: decide again with them.
    case needsAttributes(UserAttributeQuestion)
}

/// The properties of a request that are not in its head.
package struct RequestContext {
    /// The address of the connection's peer.
    package var peer: String
    /// `http` or `https`.
    package var scheme: String
    package var requestID: String
    package var trace: TraceContext
    /// Whether the trace begins here, so that the client's `tracestate` does not belong to it (Trace Context, §3.3).
    package var beginsTrace: Bool
    /// Seconds since 1970.
    package var now: Int64
    /// Whether missing keys have already been looked up, so that a key that is still missing is unknown.
    package var keysWereLookedUp: Bool
    /// Whether a body follows.
    package var hasBody: Bool
    /// The key that signs assertions; nil if there are none.
    package var assertionKey: AssertionKey?
    /// The attributes of the token's user; nil if they have not been requested.
    package var userAttributes: UserAttributeAnswer?

    package init(
        peer: String, scheme: String, requestID: String, trace: TraceContext, now: Int64,
        keysWereLookedUp: Bool = false, hasBody: Bool = false, assertionKey: AssertionKey? = nil,
        beginsTrace: Bool = false, userAttributes: UserAttributeAnswer? = nil
    ) {
        self.peer = peer
        self.scheme = scheme
        self.requestID = requestID
        self.trace = trace
        self.beginsTrace = beginsTrace
        self.now = now
        self.keysWereLookedUp = keysWereLookedUp
        self.hasBody = hasBody
        self.assertionKey = assertionKey
        self.userAttributes = userAttributes
    }
}

/// Tokens verified on one event loop, each with its identity header lines.
package typealias TokenCache = VerifiedTokenCache<[UInt8]>

/// The pure part of request processing: Cognito guard, route, policy, verification, identity.
///
/// An immutable class: copying a value with this many references for each request takes a thousand instructions.
package final class Gate: Sendable {
    package let routes: RouteTable
    package let verifier: TokenVerifier
    private let cognito: CognitoGuard
    /// The rule of each route, by the route's index.
    package let rules: [RouteRule]
    /// The distinct requirements of the routes, by the numbers that cached tokens store.
    package let requirements: [Requirements]
    let identity: IdentityLines
    /// The assertion for backends, besides the identity headers; nil for none.
    let assertion: Assertion?
    /// The audiences of assertions, by the numbers that cached tokens store.
    package let audiences: [String]
    /// The names of the headers that identify the caller to backends.
    package let identityNames: [HTTPField.Name]
    /// Nil if no user attributes are read.
    package let userAttributes: UserAttributeRule?

    package init(
        routes: RouteTable, verifier: TokenVerifier, cognito: CognitoGuard = CognitoGuard(),
        identityNamespace: String = "X-Auth-", identityClaims: [IdentityClaim] = [], assertion: Assertion? = nil,
        userAttributes: UserAttributeRule? = nil
    ) {
        self.userAttributes = userAttributes
        self.routes = routes
        self.verifier = verifier
        self.cognito = cognito
        let audiences = assertion?.audiences(of: routes.routes) ?? []
        let identityHeaders = identityClaims.map(\.header) + [assertion?.header].compactMap { $0 }
        let standard = IdentityLines.names.map { identityNamespace + $0 }
        self.identityNames = (standard + identityHeaders).compactMap { HTTPField.Name($0) }
        var numbers = RequirementNumbers()
        self.rules = routes.routes.map { route in
            RouteRule(
                route, identityNamespace: identityNamespace, identityHeaders: identityHeaders, numbers: &numbers,
                audience: assertion?.audience(of: route, among: audiences))
        }
        self.requirements = numbers.all
        self.assertion = assertion
        self.audiences = audiences
        self.identity = IdentityLines(namespace: identityNamespace, claims: identityClaims)
    }

    /// Decides about a request.
    ///
    /// - Parameters:
    ///   - cache: the token cache of the event loop.
    ///   - keySets: the issuers' current key sets, in the verifier's order.
    package func decide(
        _ request: HTTPRequest, _ context: RequestContext, cache: TokenCache, keySets: [KeySet?]
    ) -> Decision {
        if let call = cognito.inspect(request) { return .directCognito(call) }
        let path: RequestPath
        do {
            path = try RequestPath.parse(request.path ?? "")
        } catch {
            return .refuse(.path(error), routeIndex: nil)
        }
        if request.method == .options, let preflight = CrossOrigin.Preflight(request),
            case .route(let index) = routes.match(method: preflight.method, path: path, authority: request.authority),
            let crossOrigin = rules[index].crossOrigin
        {
            if rules[index].networks?.admit(context.peer) == false {
                return .refuse(.addressNotAllowed, routeIndex: index)
            }
            guard let fields = crossOrigin.allowing(preflight) else {
                return .refuse(Refusal(.accessDenied, reason: .request(.crossOriginNotAllowed)), routeIndex: index)
            }
            return .preflight(fields, routeIndex: index)
        }
        switch routes.match(method: Self.routedMethod(of: request), path: path, authority: request.authority) {
        case .none:
            return .refuse(.notFound(), routeIndex: nil)
        case .methodNotAllowed(let allow):
            return .refuse(.methodNotAllowed(allow), routeIndex: nil)
        case .route(let index):
            return admit(request, path, index, context, cache, keySets)
        }
    }

    /// An extended CONNECT is routed like the GET that opens the same protocol over HTTP/1.1 (RFC 8441 §5).
    private static func routedMethod(of request: HTTPRequest) -> HTTPRequest.Method {
        request.extendedConnectProtocol != nil && request.method == .connect ? .get : request.method
    }

    private func admit(
        _ request: HTTPRequest, _ path: RequestPath, _ index: Int, _ context: RequestContext, _ cache: TokenCache,
        _ keySets: [KeySet?]
    ) -> Decision {
        let rule = rules[index]
        if let networks = rule.networks, !networks.admit(context.peer) {
            return .refuse(.addressNotAllowed, routeIndex: index)
        }
        guard rule.access != .public else { return pass(request, path, rule, index, context, nil) }
        switch rule.presentedToken(of: request, scheme: context.scheme) {
        case .refused(let refusal):
            return .refuse(refusal, routeIndex: index)
        case .none:
            guard rule.access == .optional else { return .refuse(.tokenMissing(), routeIndex: index) }
            return pass(request, path, rule, index, context, nil)
        case .value(let value, let prefix, let source):
            switch verify(value, prefix, rule.acceptance, context, cache, keySets) {
            case .entry(var entry):
                if entry.lacksAttributes, case .upstream = rule.destination {
                    switch complete(value, prefix, entry, cache, context) {
                    case .entry(let completed): entry = completed
                    case .needed(let question): return .needsAttributes(question)
                    case .refuse(let refusal): return .refuse(refusal, routeIndex: index)
                    }
                }
                if let refusal = rule.requirement?.refusal(of: entry, path: path, now: context.now) {
                    return .refuse(refusal, routeIndex: index)
                }
                return pass(request, path, rule, index, context, entry, source)
            case .refuse(let refusal):
                guard refusal.reason == .token(.expired), let endpoint = rule.endpointOfEndedTokens else {
                    return .refuse(refusal, routeIndex: index)
                }
                return .endpoint(endpoint, routeIndex: index, .ended(.expired))
            case .revoked(let token):
                guard let endpoint = rule.endpointOfEndedTokens else {
                    return .refuse(Self.refusal(.revoked), routeIndex: index)
                }
                return .endpoint(endpoint, routeIndex: index, .ended(.revoked(token)))
            case .needsKeys(let issuerIndex, let keyID): return .needsKeys(issuerIndex: issuerIndex, keyID: keyID)
            }
        }
    }

    // MARK: Verification

    enum Verification {
        case entry(TokenCache.Entry)
        case refuse(Refusal)
        case revoked(VerifiedToken)
        case needsKeys(issuerIndex: Int, keyID: String)
    }

    /// The cache's key is the whole field value: its constant prefix costs nothing and saves a copy.
    private func verify(
        _ value: String, _ prefix: Int, _ acceptance: TokenAcceptance, _ context: RequestContext,
        _ cache: TokenCache, _ keySets: [KeySet?]
    ) -> Verification {
        let keys = { (issuerIndex: Int) in keySets[issuerIndex] }
        switch cache.lookup(value, accepting: acceptance, keys: keys, now: context.now) {
        case .hit(let entry): return .entry(entry)
        // Verified for another issuer with the same `iss`: an issuer that is accepted here may also verify it.
        case .miss, .rejected(.issuerNotAccepted): break
        case .rejected(let reason): return .refuse(Self.refusal(reason))
        case .revoked(let token): return .revoked(token)
        case .undecided: return .refuse(.revocationsUnavailable)
        }
        let token = value.utf8.span.extracting(droppingFirst: prefix)
        switch verifier.verify(
            token, accepting: acceptance, keys: keys, headers: cache.headers, signatures: cache.signatures,
            now: context.now)
        {
        case .rejected(let reason):
            return .refuse(Self.refusal(reason))
        case .needsKeys(let issuerIndex, let keyID):
            guard context.keysWereLookedUp else { return .needsKeys(issuerIndex: issuerIndex, keyID: keyID) }
            guard keySets[issuerIndex] != nil else { return .refuse(Self.keysUnavailable) }
            return .refuse(Self.refusal(.unknownKey))
        case .verified(let verified):
            guard !cache.revocations.isTooOld else { return .refuse(.revocationsUnavailable) }
            guard !cache.revocations.revokes(verified) else { return .revoked(verified) }
            return remember(value, verified, cache, context, lacksAttributes: lacksAttributes(verified))
        }
    }

    func remember(
        _ value: String, _ verified: VerifiedToken, _ cache: TokenCache, _ context: RequestContext,
        lacksAttributes: Bool
    ) -> Verification {
        do {
            let lines = try identity.lines(for: verified)
            let assertions = audiences.count * IssuedAssertions.cost(ofLines: lines.count)
            guard
                let entry = cache.insert(
                    value, verified, extra: lines, extraBytes: lines.count + assertions,
                    lacksAttributes: lacksAttributes, now: context.now)
            else { return .refuse(Self.refusal(.badSignature)) }
            return .entry(entry)
        } catch {
            // An identity that cannot be sent to the backend in full is not sent at all.
            return .refuse(.tokenInvalid(reason: .request(.identityTooLarge)))
        }
    }

    static func refusal(_ reason: RejectReason) -> Refusal {
        .tokenInvalid(reason == .expired ? .tokenExpired : .notAuthorized, reason: .token(reason))
    }

    private static let keysUnavailable = Refusal.retryLater(
        .identityProviderUnavailable, after: 5, reason: .request(.keysUnavailable))

    // MARK: Admission

    private func pass(
        _ request: HTTPRequest, _ path: RequestPath, _ rule: RouteRule, _ index: Int, _ context: RequestContext,
        _ entry: TokenCache.Entry?, _ source: PresentedToken.Source = .authorization
    ) -> Decision {
        var webSocket: WebSocketGrant?
        switch WebSocketOpening(request, hasBody: context.hasBody, rule: rule, tokenEndsAt: entry?.tokenEndsAt) {
        case .none: break
        case .granted(var grant):
            if source == .webSocketProtocol { grant.acceptedProtocol = rule.tokenSources?.webSocketProtocol }
            webSocket = grant
        case .refused(let refusal): return .refuse(refusal, routeIndex: index)
        }
        switch rule.destination {
        case .endpoint(let number):
            return .endpoint(number, routeIndex: index, entry.map { .valid($0.token) })
        case .upstream:
            guard var added = lines(request, rule, context, entry) else {
                return .refuse(Refusal(.internalFailure, reason: .request(.assertionNotSigned)), routeIndex: index)
            }
            var target = path.target
            do throws(PathFault) {
                if let rewrite = rule.treatment?.rewrite { target = try rewrite.apply(to: path) }
            } catch {
                return .refuse(.path(error), routeIndex: index)
            }
            var replaced: [HTTPField.Name] = []
            if let sources = rule.tokenSources {
                let replacement = sources.replacement(
                    in: request, keepsCookie: rule.forwardToken && source == .cookie, inbound: rule.inbound)
                replaced = replacement.names
                added.lines.append(contentsOf: replacement.lines)
            }
            return .forward(
                permit(
                    request, context, target: target, routeIndex: index, lines: added.lines, identity: added.identity,
                    subject: entry?.subject, dropsAuthorization: entry != nil && !rule.forwardToken,
                    replaced: replaced, webSocket: webSocket))
        }
    }

    /// The header lines that every request gets.
    ///
    /// - Parameter room: the number of further bytes to reserve.
    func forwardedLines(_ request: HTTPRequest, _ context: RequestContext, reserving room: Int = 0) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(320 + room)
        ForwardedLines(
            peer: context.peer, scheme: context.scheme, authority: request.authority,
            requestID: context.requestID, trace: context.trace
        ).append(to: &lines)
        return lines
    }

    /// All header lines, and the range of the caller's identity among them. Nil if the backend must get an assertion
    /// and it cannot be signed.
    private func lines(
        _ request: HTTPRequest, _ rule: RouteRule, _ context: RequestContext, _ entry: TokenCache.Entry?
    ) -> (lines: [UInt8], identity: Range<Int>)? {
        var lines = forwardedLines(request, context, reserving: entry?.extra.count ?? 0)
        let start = lines.count
        if let entry {
            lines.append(contentsOf: entry.extra)
            if let assertion {
                guard let line = assertion.line(for: entry, rule, context) else { return nil }
                lines.append(contentsOf: line)
            }
        }
        let identity = start..<lines.count
        if let treatment = rule.treatment { lines.append(contentsOf: treatment.requestHeaders.lines) }
        return (lines, identity)
    }
}
