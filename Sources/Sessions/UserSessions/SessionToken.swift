package import Accounts
internal import Cryptography
internal import Encoding
internal import Pipeline
internal import Store

/// The token of a session: a JWT of the gateway's own (ES256, `typ` `session+jwt`). It contains the user's data, so
/// that no lookup is needed.
enum SessionToken {
    static let type = "session+jwt"

    /// - Parameter session: has the token's number and times.
    static func claims(
        of session: UserSessionRecord, _ user: UserRecord, _ issuer: Issuer, _ audience: String
    ) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(issuer.issuer), "aud": .string(audience), "sub": .string(user.id),
            "sid": .string(session.id), "jti": .string("\(session.id).\(session.rotation)"),
            RevocationList.rotationClaim: .number(JSONNumber(session.rotation)),
            "iat": .number(JSONNumber(session.refreshedAt)), "exp": .number(JSONNumber(session.expiresAt)),
            "auth_time": .number(JSONNumber(session.authTime)),
        ]
        if let email = user.email {
            claims["email"] = .string(email)
            claims["email_verified"] = .bool(user.emailVerified)
        }
        claims["name"] = user.name.map(JSON.string)
        claims["phone_number"] = user.phoneNumber.map(JSON.string)
        if let role = user.role {
            claims["role"] = .string(role)
            // Allows a route to require it.
            claims["groups"] = [.string(role)]
        }
        return claims
    }

    static func text(
        of session: UserSessionRecord, _ user: UserRecord, _ issuer: Issuer, _ audience: String,
        signedWith key: AssertionKey
    ) throws(CryptographyError) -> Secret {
        Secret(try key.token(of: claims(of: session, user, issuer, audience), type: type))
    }
}

extension UserRecord {
    /// The `user` of a response.
    var object: JSONObject {
        SessionUser.object(id: id, name: name, email: email, phoneNumber: phoneNumber, role: role)
    }

    /// The user as reported to other services.
    package var account: AccountUser {
        var attributes: JSONObject = [:]
        attributes["phone_number"] = phoneNumber.map(JSON.string)
        if email != nil { attributes["is_private_email"] = .bool(isPrivateEmail) }
        return AccountUser(
            id: id, username: id, email: email, emailVerified: emailVerified, name: name,
            groups: [role].compactMap { $0 }, attributes: attributes)
    }
}

extension AppleSignInSettings {
    /// The `user` of a response.
    func shown(_ user: UserRecord) -> JSONObject {
        userFields.added(to: user.object) { name in
            switch ExactText(name) {
            case "sub": .string(user.id)
            case "name": user.name.map(JSON.string)
            case "email": user.email.map(JSON.string)
            case "email_verified": .bool(user.emailVerified)
            case "phone_number": user.phoneNumber.map(JSON.string)
            case "role": user.role.map(JSON.string)
            default: nil
            }
        }
    }

    /// The form contained in a session's token.
    func shown(_ token: VerifiedToken) -> JSONObject {
        userFields.added(to: SessionUser.object(of: token)) { name in
            ExactText(name) == "email_verified"
                ? .bool(token.claims["email_verified"]?.boolValue ?? false) : token.claims[name]
        }
    }
}

/// The `user` of a response, from the known attributes.
enum SessionUser {
    static func object(id: String, name: String?, email: String?, phoneNumber: String?, role: String?) -> JSONObject {
        [
            "id": .string(id), "name": name.map(JSON.string) ?? .null, "email": email.map(JSON.string) ?? .null,
            "phoneNumber": phoneNumber.map(JSON.string) ?? .null, "role": role.map(JSON.string) ?? .null,
        ]
    }

    /// The form contained in a session's token.
    static func object(of token: VerifiedToken) -> JSONObject {
        object(
            id: token.subject, name: token.claims["name"]?.stringValue, email: token.email,
            phoneNumber: token.claims["phone_number"]?.stringValue, role: token.claims["role"]?.stringValue)
    }
}
