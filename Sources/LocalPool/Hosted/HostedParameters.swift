internal import Cryptography
internal import Encoding

/// The parameters of a query or of a form (WHATWG URL, 5.1).
struct HostedParameters: Sendable {
    let text: String

    init(_ text: some StringProtocol) {
        self.text = String(text)
    }

    /// Parses the form in a request's body; nil if the body is not a form.
    init?(form request: LocalPoolRequest) {
        let type = request.header("content-type")?.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard type == "application/x-www-form-urlencoded", let text = String(validating: request.body, as: UTF8.self)
        else { return nil }
        self.text = text
    }

    /// The value; nil if it is missing, empty, undecodable or repeated (RFC 6749, 3.1).
    subscript(_ name: String) -> String? {
        let values = FormEncoding.values(of: name, in: text)
        guard values.count == 1, let value = values[0], !value.isEmpty else { return nil }
        return value
    }

    func isRepeated(_ name: String) -> Bool { FormEncoding.values(of: name, in: text).count > 1 }
}

/// An error of OAuth (RFC 6749, 5.2; RFC 6750, 3.1).
struct OAuthError: Error, Sendable {
    var error: String
    var description: String?
    var status = 400

    static let invalidRequest = OAuthError(error: "invalid_request")
    static let invalidClient = OAuthError(error: "invalid_client")
    static let invalidGrant = OAuthError(error: "invalid_grant")
    static let invalidToken = OAuthError(error: "invalid_token", description: "Access token is invalid.", status: 401)
}

extension UserPool {
    /// The client's settings for the hosted pages; nil if the client is unknown or may not use them.
    func hostedClient(_ id: String?) -> (client: ClientAuthentication, settings: LocalPoolConfiguration.Hosted)? {
        guard let id, let client = clients.first(where: { $0.clientID == id }),
            let settings = configuration.clients.first(where: { $0.id == id })?.hosted
        else { return nil }
        return (client, settings)
    }

    /// Authenticates the client of a request to the token or revocation endpoint, by `Authorization: Basic` or by the
    /// form (RFC 6749, 2.3.1).
    func authenticatedClient(
        _ form: HostedParameters, authorization: String?
    ) throws(OAuthError) -> (client: ClientAuthentication, settings: LocalPoolConfiguration.Hosted) {
        var (id, secret) = (form["client_id"], form["client_secret"])
        if let authorization {
            guard let (basicID, basicSecret) = Self.basicCredentials(authorization), id == nil || id == basicID else {
                throw .invalidClient
            }
            (id, secret) = (basicID, basicSecret)
        }
        guard let found = hostedClient(id) else { throw .invalidClient }
        guard let wanted = found.client.secret else { return found }
        guard let secret, constantTimeEquals(Array(secret.utf8), wanted.expose()) else { throw .invalidClient }
        return found
    }

    private static func basicCredentials(_ header: String) -> (id: String, secret: String)? {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let bytes = Base64.decode(parts[1].utf8),
            let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }
}
