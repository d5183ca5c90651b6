package import Encoding
internal import Pipeline

extension HostedSignInSettings {
    /// Returns the path of the metadata below the public URL, for account endpoints with this prefix (RFC 8414, 3): the
    /// well-known part precedes the issuer's own path.
    package static func metadataPath(prefix: String) -> String {
        "/.well-known/oauth-authorization-server\(prefix)/\(path)"
    }
}

extension CognitoAccounts {
    /// The metadata of hosted sign-in as an authorization server (RFC 8414, 2); nil if it is disabled.
    package var authorizationServerMetadata: JSONObject? {
        guard let settings = hosted?.settings else { return nil }
        return [
            "issuer": .string(settings.issuer), "authorization_endpoint": .string("\(settings.issuer)/authorize"),
            "token_endpoint": .string("\(settings.issuer)/token"),
            "scopes_supported": .array(settings.scopes.map(JSON.string)), "response_types_supported": ["code"],
            "response_modes_supported": ["query"], "grant_types_supported": ["authorization_code", "refresh_token"],
            // Apps are public clients: the gateway keeps the secret.
            "token_endpoint_auth_methods_supported": ["none"], "code_challenge_methods_supported": ["S256"],
            // RFC 9207, 3.
            "authorization_response_iss_parameter_supported": true,
        ]
    }
}
