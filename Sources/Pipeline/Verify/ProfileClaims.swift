internal import Encoding

/// The claims of an issuer's tokens that identify the user and state the user's rights.
enum UserClaims: Sendable {
    case cognitoAccess
    case cognitoID
    case apple
    case openID(groups: ClaimPath)
    case gatehouse

    static let email = "email"
    static let emailVerified = "email_verified"
    private static let scope = "scope"
    private static let scopeOfOthers = "scp"

    init(_ profile: Issuer.Profile, _ use: TokenUse) {
        switch profile {
        case .cognito: self = use == .access ? .cognitoAccess : .cognitoID
        case .apple: self = .apple
        case .openID(let rules): self = .openID(groups: rules.groupsClaim)
        case .gatehouse: self = .gatehouse
        }
    }

    var usernameClaim: String? {
        switch self {
        case .cognitoAccess: "username"
        case .cognitoID: "cognito:username"
        case .apple: nil
        case .openID, .gatehouse: "preferred_username"
        }
    }

    func username(in claims: JSONObject) -> String? {
        usernameClaim.flatMap { claims[$0]?.stringValue }
    }

    func groups(in claims: JSONObject) -> [String] {
        var groups: [String] = []
        forEachGroup(in: claims) { groups.append(String(utf8: $0)) }
        return groups
    }

    /// `scope`, separated by spaces (RFC 8693, 4.2). Some providers call it `scp` and write a list.
    func scopes(in claims: JSONObject) -> [String] {
        var scopes: [String] = []
        forEachScope(in: claims) { scopes.append(String(utf8: $0)) }
        return scopes
    }

    func forEachGroup(in claims: JSONObject, _ body: (borrowing Span<UInt8>) -> Void) {
        switch self {
        case .cognitoAccess, .cognitoID: claims.forEachText(in: "cognito:groups", body)
        case .apple: break
        case .gatehouse: claims.forEachText(in: "groups", body)
        case .openID(let path):
            for case .string(let group) in path.value(in: claims)?.arrayValue ?? [] { body(group.utf8.span) }
        }
    }

    func forEachScope(in claims: JSONObject, _ body: (borrowing Span<UInt8>) -> Void) {
        if claims.withText(of: Self.scope, { $0.forEachWord(body) }) { return }
        guard case .openID = self else { return }
        if claims.withText(of: Self.scopeOfOthers, { $0.forEachWord(body) }) { return }
        claims.forEachText(in: Self.scopeOfOthers, body)
    }
}

extension ClaimsCheck {
    /// The claims with Apple's booleans, which may be text, converted to JSON booleans.
    func plain(_ claims: JSONObject) -> JSONObject {
        guard case .apple = issuer.profile else { return claims }
        var claims = claims
        for name in ["email_verified", "is_private_email"] {
            if let flag = claims[name]?.flagValue { claims[name] = .bool(flag) }
        }
        return claims
    }
}
