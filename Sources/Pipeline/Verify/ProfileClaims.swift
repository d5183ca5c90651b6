internal import Encoding

/// Claims that the profiles' tokens give different names.
extension ClaimsCheck {
    func username(_ claims: JSONObject, _ use: TokenUse) -> String? {
        switch issuer.profile {
        case .cognito: claims[use == .access ? "username" : "cognito:username"]?.stringValue
        case .apple: nil
        case .openID, .gatehouse: claims["preferred_username"]?.stringValue
        }
    }

    func groups(_ claims: JSONObject) -> [String] {
        let list =
            switch issuer.profile {
            case .cognito: claims["cognito:groups"]
            case .apple: JSON?.none
            case .openID(let rules): rules.groupsClaim.value(in: claims)
            case .gatehouse: claims["groups"]
            }
        return list?.arrayValue?.compactMap(\.stringValue) ?? []
    }

    /// `scope` separated by spaces (RFC 8693, 4.2), which some providers call `scp` and write as a list.
    func scopes(_ claims: JSONObject) -> [String] {
        if let scope = claims["scope"]?.stringValue { return scope.words }
        guard case .openID = issuer.profile else { return [] }
        switch claims["scp"] {
        case .string(let scope): return scope.words
        case .array(let elements): return elements.compactMap(\.stringValue)
        default: return []
        }
    }

    /// The claims with Apple's booleans as booleans, so that nobody has to know that they may be text.
    func plain(_ claims: JSONObject) -> JSONObject {
        guard case .apple = issuer.profile else { return claims }
        var claims = claims
        for name in ["email_verified", "is_private_email"] {
            if let flag = claims[name]?.flagValue { claims[name] = .bool(flag) }
        }
        return claims
    }
}
