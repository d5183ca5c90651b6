package import Cryptography
package import Encoding
package import HTTPClient
internal import Pipeline

/// The hosted domain of a pool, for an app client with a secret.
package struct HostedDomain: Sendable {
    private let url: String
    private let app: AppClient
    private let fetcher: any Fetcher
    private let deadline: Duration

    /// - Parameters:
    ///   - url: without a trailing slash.
    ///   - deadline: the time limit of one request.
    package init(url: String, app: AppClient, fetcher: any Fetcher, deadline: Duration) {
        self.url = url
        self.app = app
        self.fetcher = fetcher
        self.deadline = deadline
    }

    /// Returns the URL of an endpoint with the app client's id and these parameters.
    package func url(of path: String, _ parameters: [(String, String)]) -> String {
        let query = FormEncoding.encode([("client_id", app.clientID)] + parameters)
        return "\(url)\(path)?\(String(decoding: query, as: UTF8.self))"
    }

    /// Exchanges an authorization code for tokens (RFC 6749, 4.1.3; RFC 7636, 4.5).
    ///
    /// - Throws: the domain's error, or one of kind ``CognitoErrorKind/unavailable``.
    package func tokens(
        for code: Secret, verifier: Secret, redirectURI: String
    ) async throws(CognitoError) -> AuthenticationResult {
        let response = try await post(
            "/oauth2/token",
            [
                ("grant_type", "authorization_code"), ("code", code.exposeText()), ("redirect_uri", redirectURI),
                ("code_verifier", verifier.exposeText()),
            ])
        guard response.status == 200 else { throw CognitoError(oauth: response) }
        guard let body = (try? JSON.parse(response.body))?.objectValue, let result = AuthenticationResult.oauth(body)
        else { throw CognitoError(unavailable: "UnreadableAnswer") }
        return result
    }

    /// Fetches the user info for an access token (OpenID Connect Core, 5.3).
    package func userInfo(_ token: Secret) async throws(CognitoError) -> FetchResponse {
        do {
            return try await fetcher.fetch(
                FetchRequest(
                    url: "\(url)/oauth2/userInfo", headers: [("Authorization", "Bearer \(token.exposeText())")],
                    deadline: deadline))
        } catch {
            throw CognitoError(noAnswer: error)
        }
    }

    /// Posts a form for the app client, authenticated in the header (RFC 6749, 2.3.1).
    package func post(_ path: String, _ fields: [(String, String)]) async throws(CognitoError) -> FetchResponse {
        var headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
        if let secret = app.clientSecret {
            let credentials = Base64.encode(Array("\(app.clientID):".utf8) + secret.expose())
            headers.append(("Authorization", "Basic \(credentials)"))
        }
        let form = FormEncoding.encode([("client_id", app.clientID)] + fields)
        do {
            return try await fetcher.fetch(
                FetchRequest(method: "POST", url: "\(url)\(path)", headers: headers, body: form, deadline: deadline))
        } catch {
            throw CognitoError(noAnswer: error)
        }
    }
}

extension AuthenticationResult {
    /// Decodes a response of the token endpoint (RFC 6749, 5.1); nil if a member is missing or invalid.
    package static func oauth(_ body: JSONObject) -> AuthenticationResult? {
        guard let access = body["access_token"]?.stringValue, let expiresIn = lifetime(body["expires_in"]) else {
            return nil
        }
        return AuthenticationResult(
            accessToken: Secret(access), idToken: (body["id_token"]?.stringValue).map { Secret($0) },
            refreshToken: (body["refresh_token"]?.stringValue).map { Secret($0) }, expiresIn: expiresIn)
    }
}

extension CognitoError {
    /// Creates the error for a response of the hosted domain (RFC 6749, 5.2; RFC 6750, 3.1).
    package init(oauth response: FetchResponse) {
        let body = (try? JSON.parse(response.body))?.objectValue
        guard response.status < 500, let name = body?["error"]?.stringValue, (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "_") })
        else {
            self.init(unavailable: "Status\(response.status)")
            if response.status == 429 { kind = .throttled }
            return
        }
        self.init(type: name, message: "")
        kind =
            switch ExactText(name) {
            case "invalid_client": .clientSecretRefused
            case "unauthorized_client": .flowNotEnabled
            case "invalid_grant": .codeMismatch
            case "invalid_token": .tokenRevoked
            case "invalid_request", "unsupported_grant_type", "invalid_scope": .invalidParameter
            default: .unavailable
            }
    }
}
