internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// Requests for the hosted domain: browsers are redirected to it, and apps' requests are sent to it with the client
/// secret.
extension DirectCognitoCalls {
    /// Whether any pool has a hosted domain in the settings.
    package var servesHosted: Bool { pools.contains { $0.settings.hosted != nil } }

    /// Answers a request. Never throws: every failure becomes a response with an error body, in OAuth's form except for
    /// pages and user info.
    package func answer(_ request: DirectHostedRequest) async -> DirectCognitoReply {
        if let (call, pool) = asOperation(request) {
            var direct = request.direct
            (direct.call, direct.body) = (call.call, call.body)
            return DirectCognitoReply(oauth: await answer(direct), of: request, at: pool)
        }
        var known = AccountCall(
            request.direct, as: request.path.nearest, poolID: pools.first?.settings.poolID ?? "")
        if request.path != .token { known.method = nil }
        var reply: DirectCognitoReply
        do throws(Refusal) {
            let answer = try await flow.run(known) { call throws(Refusal) in
                let hosted = try hosted(for: request)
                call.poolID = hosted.pool.settings.poolID
                known = call
                return hosted
            } perform: { hosted, admission throws(Refusal) in
                let answer = try await perform(request, hosted)
                known = admission.call
                return answer
            }
            reply = DirectCognitoReply(answer, wasAsked: true)
        } catch {
            let answer =
                request.path.isPage || request.path == .userInfo
                ? AccountAnswer(refusal: error, requestID: request.direct.requestID)
                : AccountAnswer(oauth: error, requestID: request.direct.requestID)
            reply = DirectCognitoReply(answer, wasAsked: false)
        }
        reply.account = known.account
        return reply
    }

    /// The destination of a request and its parameters.
    struct HostedCall {
        var pool: DirectCognitoPool
        var domain: HostedDomain
        var parameters: [(String, String)]
    }

    /// Returns the equivalent operation of the user pools API, so that the gateway tracks the session like any other;
    /// nil if there is none.
    private func asOperation(
        _ request: DirectHostedRequest
    ) -> (call: (call: DirectCognitoCall, body: [UInt8]), pool: DirectCognitoPool)? {
        guard request.method == .post, let form = request.form, let clientID = request.clientID(form),
            let pool = pools.first(where: { $0.settings.hosted != nil && $0.knows(clientID: clientID) })
        else { return nil }
        let (operation, member, parameter): (String, String, String)
        switch request.path {
        case .revoke: (operation, member, parameter) = ("RevokeToken", "Token", "token")
        case .token where ((try? form.value("grant_type")) ?? nil).hasSameBytes(as: "refresh_token"):
            (operation, member, parameter) = ("GetTokensFromRefreshToken", "RefreshToken", "refresh_token")
        default: return nil
        }
        guard let token = try? form.value(parameter, atMost: 16_384) else { return nil }
        let body: JSONObject = ["ClientId": .string(clientID), member: .string(token)]
        var call = request.direct.call
        call.operation = operation
        return ((call, JSON.object(body).encoded()), pool)
    }

    private func hosted(for request: DirectHostedRequest) throws(Refusal) -> HostedCall {
        let malformed = Refusal(.badRequest, reason: .account(.oauthParameters))
        if request.path == .userInfo {
            guard request.method == .get || request.method == .post else { throw .methodNotAllowed([.get, .post]) }
            guard let token = request.bearer, let pool = hostedPool({ $0.claims(of: token.exposeText()) != nil }) else {
                throw .tokenInvalid(.notAuthorized, reason: .account(.notAnAccessToken))
            }
            return call(of: pool, [])
        }
        let method: HTTPRequest.Method = request.path.isPage ? .get : .post
        guard request.method == method else { throw .methodNotAllowed([method]) }
        guard let given = request.path.isPage ? OAuthParameters(request.query) : request.form else { throw malformed }
        let clientID = request.path.isPage ? (try? given.value("client_id")) ?? nil : request.clientID(given)
        guard let clientID, let pool = hostedPool({ $0.knows(clientID: clientID) }) else {
            throw Refusal(.badRequest, message: "The client_id is not known here.", reason: .account(.oauthClient))
        }
        var parameters: [(String, String)] = []
        do {
            for name in request.path.parameters {
                if let value = try given.value(name, atMost: 4096) { parameters.append((name, value)) }
            }
        } catch {
            throw malformed
        }
        let values = Dictionary(parameters.map { (ExactText($0.0), $0.1) }) { first, _ in first }
        try check(values, of: request.path)
        return call(of: pool, parameters)
    }

    /// Checks the parameters. The app has no secret, so only PKCE protects a code from use by others (RFC 9700, 2.1.1).
    private func check(_ values: [ExactText: String], of path: HostedPath) throws(Refusal) {
        switch path {
        case .logout, .userInfo: break
        case .revoke: throw Refusal(.invalidParameter, reason: .account(.oauthParameters))
        case .authorize, .login, .signUp, .forgotPassword:
            guard values["response_type"].hasSameBytes(as: "code"), values.keys.contains("code_challenge"),
                values["code_challenge_method"].hasSameBytes(as: "S256")
            else {
                throw Refusal(
                    .badRequest, message: "A code and a code_challenge by S256 are required.",
                    reason: .account(.oauthParameters))
            }
        case .token:
            guard values["grant_type"].hasSameBytes(as: "authorization_code") else {
                if values["grant_type"].hasSameBytes(as: "refresh_token") {
                    throw Refusal(.invalidParameter, reason: .account(.oauthParameters))
                }
                throw Refusal(
                    .invalidParameter, message: "The grant_type must be authorization_code or refresh_token.",
                    reason: .account(.oauthGrantType))
            }
            guard values.keys.contains("code"), values.keys.contains("code_verifier") else {
                throw Refusal(
                    .invalidParameter, message: "A code and a code_verifier are required.",
                    reason: .account(.oauthParameters))
            }
        }
    }

    private func hostedPool(_ isMeant: (DirectCognitoPool) -> Bool) -> DirectCognitoPool? {
        pools.first { $0.settings.hosted != nil && isMeant($0) }
    }

    private func call(of pool: DirectCognitoPool, _ parameters: [(String, String)]) -> HostedCall {
        let settings = pool.settings
        let app = AppClient(
            poolID: settings.poolID, clientID: settings.clientID, clientSecret: settings.clientSecret)
        let domain = HostedDomain(
            url: settings.hosted?.domain ?? "", app: app, fetcher: pool.fetcher, deadline: settings.deadline)
        return HostedCall(pool: pool, domain: domain, parameters: parameters)
    }
}

extension HostedPath {
    /// The gateway's own operation whose limits apply.
    fileprivate var nearest: AccountOperation {
        switch self {
        case .authorize, .login, .signUp, .forgotPassword: .oauthAuthorize
        case .logout: .oauthLogout
        case .token: .oauthToken
        case .revoke: .logout
        case .userInfo: .me
        }
    }

    /// The parameters that are passed on. No other is, and the app client is the gateway's own.
    fileprivate var parameters: [String] {
        switch self {
        case .authorize, .login, .signUp, .forgotPassword:
            [
                "response_type", "redirect_uri", "state", "scope", "nonce", "code_challenge", "code_challenge_method",
                "identity_provider", "idp_identifier", "login_hint", "prompt", "lang",
            ]
        case .logout:
            [
                "logout_uri", "redirect_uri", "response_type", "state", "scope", "code_challenge",
                "code_challenge_method",
            ]
        case .token: ["grant_type", "code", "redirect_uri", "code_verifier"]
        case .revoke, .userInfo: []
        }
    }
}
