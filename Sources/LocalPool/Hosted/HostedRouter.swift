internal import Cryptography
internal import Encoding
internal import Logging

/// The pool's domain: the sign-in pages and the OAuth endpoints.
struct HostedRouter: Sendable {
    let pool: UserPool
    let rehearsal: Rehearsal

    private static let pages: Set<Substring> = [
        "/login", "/logout", "/signup", "/confirmUser", "/forgotPassword", "/confirmForgotPassword", "/mfa",
    ]
    private static let browserCookie = "cognito"
    static let formCookie = "XSRF-TOKEN"
    /// Has no `form-action`: browsers would also apply it to the redirects after a form, which lead to the application.
    private static let contentPolicy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    static let providerPrefix = "/oauth2/authorize/"

    static func serves(_ path: Substring, of pool: UserPool) -> Bool {
        path.hasPrefix("/oauth2/") || pages.contains(path)
            || path == "/\(pool.configuration.poolID)/.well-known/openid-configuration"
    }

    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        if request.path.hasSuffix("/.well-known/openid-configuration") {
            return .json(.object(pool.openIDConfiguration))
        }
        if let response = await TokenEndpoints(pool: pool, rehearsal: rehearsal).answer(request) { return response }
        guard request.method == "GET" || request.method == "POST" else { return page(.failure("method"), 405, request) }
        do {
            if request.path == "/logout" { return try await signOut(request) }
            return try await signIn(request)
        } catch {
            pool.logger.error("a page failed", metadata: ["path": "\(request.path)", "error": "\(error)"])
            return page(.failure("server_error"), 500, request)
        }
    }

    private func signIn(_ request: LocalPoolRequest) async throws -> LocalPoolResponse {
        let asked: AuthorizationRequest
        do throws(AuthorizationRequest.Failure) {
            asked = try AuthorizationRequest(request.query, pool)
        } catch {
            switch error {
            case .page(let text): return page(.failure(text), 400, request)
            case .redirect(let uri): return Self.redirect(uri)
            }
        }
        if request.method == "GET", request.path == "/oauth2/authorize" { return try await begin(asked, request) }
        let steps = HostedSteps(pool: pool, asked: asked)
        let step: HostedSteps.Step
        if request.method == "GET" {
            step = steps.page(at: request.path)
        } else if let form = HostedParameters(form: request), isOfOwnPage(form, request) {
            step = try await steps.answer(form, at: request.path)
        } else {
            return page(.failure("The form is not of a page of this browser. Go back and try again."), 403, request)
        }
        switch step {
        case .page(let next, let status): return page(next, status, request)
        case .refused(let error): return Self.redirect(asked.redirect([("error", error)]))
        case .user(let sub): return try await give(sub, asked)
        }
    }

    /// Begins a sign-in. A user who is signed in with this browser gets no page.
    private func begin(_ asked: AuthorizationRequest, _ request: LocalPoolRequest) async throws -> LocalPoolResponse {
        if let provider = asked.identityProvider, provider != "COGNITO" {
            return Self.redirect("\(Self.providerPrefix)\(provider)?\(asked.query)")
        }
        if !asked.prompts.contains("login"), let token = request.cookie(Self.browserCookie),
            let user = try await pool.user(ofBrowser: token)
        {
            return Self.redirect(asked.redirect([("code", try await pool.authorizationCode(for: user.sub, asked))]))
        }
        guard !asked.prompts.contains("none") else {
            return Self.redirect(asked.redirect([("error", "login_required")]))
        }
        return Self.redirect("/login?\(asked.query)")
    }

    /// Completes the sign-in: the browser stays signed in for an hour, and the application gets a code.
    private func give(_ sub: String, _ asked: AuthorizationRequest) async throws -> LocalPoolResponse {
        let token = try await pool.browserSession(of: sub, asked.client.clientID)
        var response = Self.redirect(asked.redirect([("code", try await pool.authorizationCode(for: sub, asked))]))
        response.headers.append(cookie(Self.browserCookie, token, lifetime: UserPool.browserLifetime))
        return response
    }

    /// Ends the browser's sign-in and redirects to a URL that the client allows.
    private func signOut(_ request: LocalPoolRequest) async throws -> LocalPoolResponse {
        let parameters = HostedParameters(request.query)
        guard request.method == "GET", let (_, settings) = pool.hostedClient(parameters["client_id"]) else {
            return page(.failure("invalid_client"), 400, request)
        }
        var target: String?
        if let uri = parameters["logout_uri"], settings.logoutURLs.contains(uri) { target = uri }
        // The user signs in with another account.
        if parameters["logout_uri"] == nil, parameters["redirect_uri"] != nil { target = "/login?\(request.query)" }
        guard let target else { return page(.failure("invalid_request"), 400, request) }
        if let token = request.cookie(Self.browserCookie) { try await pool.endBrowserSession(token) }
        var response = Self.redirect(target)
        response.headers.append(cookie(Self.browserCookie, "", lifetime: 0))
        return response
    }

    // MARK: Responses

    private static func redirect(_ target: String) -> LocalPoolResponse {
        LocalPoolResponse(
            status: 302, contentType: "text/plain",
            headers: [
                .init(name: "location", value: target), .init(name: "cache-control", value: "no-store"),
                .init(name: "referrer-policy", value: "no-referrer"),
            ], body: [])
    }

    private func page(_ page: HostedPage, _ status: Int, _ request: LocalPoolRequest) -> LocalPoolResponse {
        let known = request.cookie(Self.formCookie)
        let token = known ?? Base64URL.encode(pool.random(16))
        var headers = [
            LocalPoolHeader(name: "cache-control", value: "no-store"),
            .init(name: "content-security-policy", value: Self.contentPolicy),
            .init(name: "referrer-policy", value: "no-referrer"),
            .init(name: "x-content-type-options", value: "nosniff"),
        ]
        if known == nil { headers.append(cookie(Self.formCookie, token, lifetime: 86_400)) }
        let html = page.html(query: String(request.query), token: token)
        return LocalPoolResponse(
            status: status, contentType: "text/html; charset=utf-8", headers: headers, body: Array(html.utf8))
    }

    /// Lax: browsers send it with the application's redirect, but not with forms of other sites.
    private func cookie(_ name: String, _ value: String, lifetime: Int64) -> LocalPoolHeader {
        let isSecure = pool.endpoint.hasPrefix("https://")
        return .init(
            name: "set-cookie",
            value: "\(name)=\(value); Path=/; Max-Age=\(lifetime); HttpOnly; SameSite=Lax\(isSecure ? "; Secure" : "")")
    }

    private func isOfOwnPage(_ form: HostedParameters, _ request: LocalPoolRequest) -> Bool {
        guard let cookie = request.cookie(Self.formCookie), let token = form["_csrf"] else { return false }
        return constantTimeEquals(Array(cookie.utf8), Array(token.utf8))
    }
}

extension LocalPoolRequest {
    /// The value of a cookie; nil if it is missing or empty.
    func cookie(_ name: String) -> String? {
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in header.value.split(separator: ";") {
                let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0] == name { return String(parts[1]) }
            }
        }
        return nil
    }
}
