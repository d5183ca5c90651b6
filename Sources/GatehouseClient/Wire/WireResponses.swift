import Foundation

/// The tokens of a sign-in or a refresh at the account calls.
struct TokensResponse: Decodable {
    var accessToken: Secret
    var refreshToken: Secret
    var idToken: Secret?
    var expiresIn: TimeInterval
    /// Only with a sign-in.
    var user: User?
    var deviceToken: Secret?

    private enum CodingKeys: String, CodingKey {
        case user
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case idToken = "id_token"
        case expiresIn = "expires_in"
        case deviceToken = "device_token"
    }
}

/// The token of a sign-in or a refresh at the calls of Sign in with Apple.
struct SessionResponse: Decodable {
    var token: Secret
    /// Only with a sign-in.
    var user: User?
}

/// Claims of a token. They only say when to refresh, and who it is until the gateway says; nothing is trusted for them.
struct TokenTimes: Decodable {
    var sub: String?
    var exp: TimeInterval

    /// - Returns: nil if the text is no JWT (RFC 7519, section 3) with an `exp`.
    init?(of token: Secret) {
        let parts = token.text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var base64 = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard let data = Data(base64Encoded: base64),
            let times = try? JSONDecoder().decode(Self.self, from: data)
        else { return nil }
        self = times
    }
}
