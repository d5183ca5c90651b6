internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountAnswer {
    /// Returns 303: the browser continues with GET (RFC 9700, 4.12). The target gets no referrer.
    static func redirect(to target: String, cookie: String? = nil) -> AccountAnswer {
        var headers: HTTPFields = [.location: target, .cacheControl: "no-store"]
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
        if let cookie { headers[.setCookie] = cookie }
        return AccountAnswer(
            status: .seeOther, headers: headers, body: [], reason: nil, subject: nil, outcome: .succeeded)
    }

    /// Redirects the browser back to the app with an error (RFC 6749, 4.1.2.1).
    static func redirect(_ app: AppRedirect, error: String, refusal: Refusal) -> AccountAnswer {
        var answer = redirect(to: app.target([("error", error)]))
        answer.reason = refusal.reason
        answer.outcome = refusal.outcome
        return answer
    }

    /// Creates a refusal of the token endpoint, with the members of RFC 6749, 5.2, and those of the API.
    init(oauth refusal: Refusal, requestID: String) {
        self.init(refusal: refusal, requestID: requestID)
        guard var object = (try? JSON.parse(body))?.objectValue else { return }
        let error = refusal.oauthError
        object["error"] = .string(error)
        object["error_description"] = .string(refusal.message)
        if ["invalid_request", "invalid_client", "invalid_grant", "unsupported_grant_type"].contains(ExactText(error)) {
            status = .badRequest
            headers[.wwwAuthenticate] = nil
            object["statusCode"] = 400
        }
        body = object.encoded()
    }
}

/// The destination of a browser that brings the app a result.
struct AppRedirect: Sendable {
    var redirectURI: String
    var state: String?
    /// The gateway's own identifier (RFC 9207).
    var issuer: String

    func target(_ parameters: [(String, String)]) -> String {
        let all = parameters + (state.map { [("state", $0)] } ?? []) + [("iss", issuer)]
        let separator = redirectURI.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return redirectURI + separator + String(decoding: FormEncoding.encode(all), as: UTF8.self)
    }
}

extension Refusal {
    /// The error code of RFC 6749, 5.2, or of 4.1.2.1 if the former has none.
    fileprivate var oauthError: String {
        switch reason {
        case .account(.oauthClient): return "invalid_client"
        case .account(.oauthGrantType): return "unsupported_grant_type"
        default: break
        }
        switch error {
        case .badRequest, .invalidParameter, .payloadTooLarge: return "invalid_request"
        case .tooManyRequests, .serviceUnavailable, .identityProviderUnavailable: return "temporarily_unavailable"
        case .internalFailure, .upstream, .upstreamTimeout: return "server_error"
        default: return "invalid_grant"
        }
    }
}
