package import HTTPTypes

extension Refusal {
    static let invalidToken = "Bearer error=\"invalid_token\""

    /// 401 for a request without a token: a bare challenge, since nothing was wrong with what was sent
    /// (RFC 6750 §3.1).
    package static func tokenMissing(reason: Reason = .request(.tokenMissing)) -> Refusal {
        Refusal(.notAuthorized, headers: [.wwwAuthenticate: "Bearer"], reason: reason)
    }

    /// 401 for a token that was sent and is not valid (RFC 6750 §3.1).
    /// - Parameter error: ``GatewayError/notAuthorized``, or ``GatewayError/tokenExpired`` or
    ///   ``GatewayError/tokenRefresh``, which let an app tell what to do next.
    package static func tokenInvalid(
        _ error: GatewayError = .notAuthorized, message: String? = nil, reason: Reason
    ) -> Refusal {
        Refusal(
            error, message: message, headers: [.wwwAuthenticate: invalidToken], reason: reason)
    }

    /// 401 for a sign-in that was too long ago (RFC 9470 §3).
    ///
    /// - Parameter maximumAge: in seconds.
    package static func authenticationTooOld(maximumAge: Int64) -> Refusal {
        let challenge = "Bearer error=\"insufficient_user_authentication\", max_age=\"\(maximumAge)\""
        return Refusal(
            .notAuthorized, message: "A more recent sign-in is required.", headers: [.wwwAuthenticate: challenge],
            reason: .policy(.authenticationTooOld))
    }

    /// 401 for credentials in the request's body: a password, a challenge's session, a refresh or identity token. The
    /// challenge is bare, because `invalid_token` would blame the access token, which the request does not depend on
    /// (RFC 6750 §3.1).
    package static func credentialsRefused(
        _ error: GatewayError = .notAuthorized, message: String? = nil, reason: Reason
    ) -> Refusal {
        Refusal(error, message: message, headers: [.wwwAuthenticate: "Bearer"], reason: reason)
    }

    /// 403 for a token without a required scope (RFC 6750 §3).
    ///
    /// - Parameter scope: the required scopes, separated by spaces. No scope contains a quote or a backslash.
    package static func scopeMissing(_ scope: String, reason: Reason) -> Refusal {
        Refusal(
            .accessDenied, headers: [.wwwAuthenticate: "Bearer error=\"insufficient_scope\", scope=\"\(scope)\""],
            reason: reason)
    }

    /// 405 with the methods the path takes (RFC 9110 §15.5.6).
    package static func methodNotAllowed(_ allow: [HTTPRequest.Method]) -> Refusal {
        Refusal(
            .methodNotAllowed, headers: [.allow: allow.map(\.rawValue).joined(separator: ", ")],
            reason: .request(.methodNotAllowed))
    }

    /// 404: no route names the path.
    package static func notFound() -> Refusal {
        Refusal(.notFound, reason: .request(.noRoute))
    }

    /// 421: the listener does not serve the host that the request names (RFC 9110 §15.5.20).
    package static func misdirected() -> Refusal {
        Refusal(.misdirectedRequest, reason: .request(.hostNotServed))
    }

    /// 400 or 414 for a request target.
    package static func path(_ fault: PathFault) -> Refusal {
        Refusal(fault.error, reason: .path(fault))
    }

    /// 503: the list of revocations is too old to decide whether a token is valid.
    package static let revocationsUnavailable = retryLater(
        .serviceUnavailable, after: 5, reason: .request(.revocationsUnavailable))

    /// 403: the route is not for the client's network.
    static let addressNotAllowed = Refusal(.accessDenied, reason: .request(.addressNotAllowed))

    /// 429: the route has been called too often.
    ///
    /// - Parameter seconds: the time until calls are accepted again.
    package static func rateLimited(after seconds: Int) -> Refusal {
        retryLater(.tooManyRequests, after: seconds, reason: .request(.rateLimited))
    }

    /// 429 or 503 with the whole seconds until the next attempt, at least one (RFC 9110 §10.2.3).
    package static func retryLater(
        _ error: GatewayError, after seconds: Int, message: String? = nil, reason: Reason
    ) -> Refusal {
        Refusal(error, message: message, headers: [.retryAfter: String(max(1, seconds))], reason: reason)
    }
}
