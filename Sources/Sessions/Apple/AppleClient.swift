package import Cryptography
internal import Encoding
package import HTTPClient
internal import Pipeline

/// Calls Apple's token endpoints (RFC 6749, 4.1.3 and 6; RFC 7009), with a new client secret for each call.
package struct AppleClient: Sendable {
    /// Apple's response to an authorization code.
    package struct Grant: Sendable {
        /// Valid until the user or Apple revokes it.
        package var refreshToken: Secret
        /// The subject of the accompanying identity token, received directly from Apple: the user whom the code was
        /// issued for.
        package var subject: String?
    }

    /// Apple's tokens and errors are short.
    private static let maximumAnswerBytes = 64 << 10

    private let endpoint: String
    private let secret: AppleClientSecret
    private let fetcher: any Fetcher
    private let deadline: Duration
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - endpoint: such as `https://appleid.apple.com`, without a trailing slash.
    ///   - deadline: the time limit of one call.
    ///   - now: seconds since 1970.
    package init(
        endpoint: String, secret: AppleClientSecret, fetcher: any Fetcher, deadline: Duration = .seconds(5),
        now: @escaping @Sendable () -> Int64
    ) {
        self.endpoint = endpoint
        self.secret = secret
        self.fetcher = fetcher
        self.deadline = deadline
        self.now = now
    }

    /// Exchanges an authorization code, which is valid once and for five minutes.
    package func exchange(code: Secret, clientID: String) async throws(AppleClientError) -> Grant {
        let answer = try await post(
            "/auth/token", [("grant_type", "authorization_code"), ("code", code.exposeText())], clientID)
        let output = try Self.output(of: answer)
        guard let refreshToken = output["refresh_token"]?.stringValue, !refreshToken.isEmpty else {
            throw AppleClientError(.unavailable, "no-refresh-token")
        }
        // Its signature would prove no more than the TLS connection does (OpenID Connect Core 1.0, 3.1.3.7, 6).
        let token = output["id_token"]?.stringValue.flatMap { UnverifiedToken(Array($0.utf8)) }
        return Grant(refreshToken: Secret(refreshToken), subject: token?.payload?["sub"]?.stringValue)
    }

    /// Asks whether a refresh token is still valid. Apple allows this once a day at most.
    ///
    /// - Throws: ``AppleClientError/Kind/invalidGrant`` if the user has revoked it.
    package func validate(refreshToken: Secret, clientID: String) async throws(AppleClientError) {
        let answer = try await post(
            "/auth/token", [("grant_type", "refresh_token"), ("refresh_token", refreshToken.exposeText())], clientID)
        _ = try Self.output(of: answer)
    }

    /// Revokes a refresh token, and with it the user's consent.
    package func revoke(refreshToken: Secret, clientID: String) async throws(AppleClientError) {
        let answer = try await post(
            "/auth/revoke", [("token", refreshToken.exposeText()), ("token_type_hint", "refresh_token")], clientID)
        guard answer.status == 200 else { throw AppleClientError(answer) }
    }

    private func post(
        _ path: String, _ fields: [(String, String)], _ clientID: String
    ) async throws(AppleClientError) -> FetchResponse {
        guard let secret = try? secret.token(clientID: clientID, now: now()) else {
            throw AppleClientError(.misconfigured, "secret-not-signed")
        }
        let all = [("client_id", clientID), ("client_secret", secret.exposeText())] + fields
        let request = FetchRequest(
            method: "POST", url: endpoint + path,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
            body: FormEncoding.encode(all), deadline: deadline, maximumResponseBytes: Self.maximumAnswerBytes)
        do {
            return try await fetcher.fetch(request)
        } catch {
            throw AppleClientError(noAnswer: error)
        }
    }

    private static func output(of answer: FetchResponse) throws(AppleClientError) -> JSONObject {
        guard answer.status == 200 else { throw AppleClientError(answer) }
        guard let output = (try? JSON.parse(answer.body))?.objectValue else {
            throw AppleClientError(.unavailable, "unreadable-answer")
        }
        return output
    }
}
