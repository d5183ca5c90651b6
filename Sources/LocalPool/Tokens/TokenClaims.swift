internal import Encoding

/// The claims of the tokens of one sign-in or refresh.
struct TokenClaims {
    let issuer: String
    let clientID: String
    let user: UserRecord
    /// The id that all tokens from one sign-in share.
    let originJTI: String
    /// The device the user signed in with, for pools that track devices.
    let deviceKey: String?
    let eventID: String
    /// The time of the user's sign-in; refreshes don't change it.
    let authTime: Int64
    let now: Int64
    /// The scope of a hosted sign-in; nil for a sign-in by the API.
    var scope: String?
    /// The `nonce` of a hosted sign-in's first ID token.
    var nonce: String?
    /// Whether the client may read an attribute.
    var isReadable: @Sendable (String) -> Bool = { _ in true }

    /// The scope that operations for a signed-in user require.
    static let ownScope = "aws.cognito.signin.user.admin"

    /// The claims of an access token: no `aud`, no e-mail address; `username` is the real user name.
    func access(jti: String, lifetime: Int64) -> JSONObject {
        var claims = common(.access)
        if let deviceKey { claims["device_key"] = .string(deviceKey) }
        claims["client_id"] = .string(clientID)
        claims["scope"] = .string(scope ?? Self.ownScope)
        addTimes(to: &claims, lifetime: lifetime)
        claims["jti"] = .string(jti)
        claims["username"] = .string(user.username)
        return claims
    }

    /// The claims of an ID token, which include the user's attributes.
    func id(jti: String, lifetime: Int64) -> JSONObject {
        var claims = common(.id)
        claims["aud"] = .string(clientID)
        claims["cognito:username"] = .string(user.username)
        if !user.email.isEmpty, isReadable("email") { claims["email"] = .string(user.email) }
        if !user.email.isEmpty, isReadable("email_verified") { claims["email_verified"] = .bool(user.isEmailVerified) }
        addTimes(to: &claims, lifetime: lifetime)
        claims["jti"] = .string(jti)
        if user.phoneNumber != nil, isReadable("phone_number_verified") {
            claims["phone_number_verified"] = .bool(user.isPhoneVerified)
        }
        if let identity = user.identity, isReadable("identities") {
            claims["identities"] = [identity.claim(createdAt: user.createdAt)]
        }
        claims["nonce"] = nonce.map(JSON.string)
        // No attribute can replace a claim.
        for (name, value) in user.attributes where claims[name] == nil && isReadable(name) { claims[name] = value }
        return claims
    }

    private func common(_ use: PoolKeys.Use) -> JSONObject {
        var claims: JSONObject = ["sub": .string(user.sub)]
        // Cognito omits the claim for a user without groups.
        if !user.groups.isEmpty { claims["cognito:groups"] = .array(user.groups.map(JSON.string)) }
        claims["iss"] = .string(issuer)
        claims["origin_jti"] = .string(originJTI)
        claims["event_id"] = .string(eventID)
        claims["token_use"] = .string(use.rawValue)
        return claims
    }

    private func addTimes(to claims: inout JSONObject, lifetime: Int64) {
        claims["auth_time"] = .number(JSONNumber(authTime))
        claims["exp"] = .number(JSONNumber(now + lifetime))
        claims["iat"] = .number(JSONNumber(now))
    }
}
