package import Encoding

/// A user as the API shows it: the `user` object of `POST login`, and the whole response of `GET me`.
package struct AccountUser: Sendable {
    package var id: String
    package var username: String
    package var email: String?
    package var emailVerified: Bool
    package var name: String?
    package var groups: [String]
    /// Other attributes under Cognito's names, such as `phone_number` or `custom:plan`.
    package var attributes: JSONObject
    /// The claims of the access token. Only claims that the settings list are shown.
    var claims: JSONObject = [:]

    package init(
        id: String, username: String, email: String? = nil, emailVerified: Bool, name: String? = nil, groups: [String],
        attributes: JSONObject
    ) {
        self.id = id
        self.username = username
        self.email = email
        self.emailVerified = emailVerified
        self.name = name
        self.groups = groups
        self.attributes = attributes
    }

    /// Returns an attribute or claim of the user, for ``UserFields``; nil if the user has none of that name.
    package func value(_ name: String) -> JSON? {
        switch ExactText(name) {
        case "sub", "id": .string(id)
        case "username", "cognito:username": .string(username)
        case "email": email.map(JSON.string)
        case "email_verified": .bool(emailVerified)
        case "name": self.name.map(JSON.string)
        case "groups", "cognito:groups": .array(groups.map(JSON.string))
        default: attributes[name] ?? claims[name]
        }
    }

    package var object: JSONObject {
        [
            "id": .string(id),
            "email": email.map(JSON.string) ?? .null,
            "email_verified": .bool(emailVerified),
            "name": name.map(JSON.string) ?? .null,
            "username": .string(username),
            "groups": .array(groups.map(JSON.string)),
            "attributes": .object(attributes),
        ]
    }
}

extension AccountUser {
    /// Creates the user from the claims of a sign-in's tokens.
    ///
    /// - Returns: nil if a token lacks a claim that Cognito always sets.
    init?(accessClaims: JSONObject, idClaims: JSONObject?) {
        guard let id = accessClaims["sub"]?.stringValue, let username = accessClaims["username"]?.stringValue else {
            return nil
        }
        let claims = idClaims ?? [:]
        self.claims = accessClaims
        self.id = id
        self.username = username
        email = claims["email"]?.stringValue
        emailVerified = Self.isTrue(claims["email_verified"])
        name = claims["name"]?.stringValue
        groups = accessClaims["cognito:groups"]?.arrayValue?.compactMap(\.stringValue) ?? []
        attributes = [:]
        for (claim, value) in claims where Self.isAttribute(claim) {
            attributes[claim] = Self.attribute(claim, value)
        }
    }

    /// Creates the user from the output of GetUser.
    ///
    /// - Parameter groups: from the verified access token, since GetUser does not list them.
    /// - Returns: nil for an output without name or `sub`.
    init?(output: JSONObject, groups: [String]) {
        var values: JSONObject = [:]
        for entry in output["UserAttributes"]?.arrayValue ?? [] {
            guard let name = entry.objectValue?["Name"]?.stringValue else { continue }
            values[name] = entry.objectValue?["Value"]
        }
        guard let username = output["Username"]?.stringValue, let id = values["sub"]?.stringValue else { return nil }
        self.id = id
        self.username = username
        self.groups = groups
        email = values["email"]?.stringValue
        emailVerified = Self.isTrue(values["email_verified"])
        name = values["name"]?.stringValue
        attributes = [:]
        for (name, value) in values where Self.isAttribute(name) {
            attributes[name] = Self.attribute(name, value)
        }
    }

    /// The attributes of OpenID Connect Core 5.1 that Cognito stores, without those that `user` shows under their own
    /// names. An ID token also has claims that are not attributes, so attributes are listed rather than claims
    /// excluded.
    private static let standardAttributes: Set<ExactText> = [
        "address", "birthdate", "family_name", "gender", "given_name", "locale", "middle_name", "nickname",
        "phone_number", "phone_number_verified", "picture", "preferred_username", "profile", "updated_at", "website",
        "zoneinfo",
    ]

    private static func isAttribute(_ name: String) -> Bool {
        standardAttributes.contains(ExactText(name)) || name.begins(with: "custom:")
    }

    /// Converts a value to one form for clients: GetUser returns every value as text, an ID token some with their JSON
    /// type.
    private static func attribute(_ name: String, _ value: JSON) -> JSON {
        ExactText(name) == "phone_number_verified" ? .bool(isTrue(value)) : value
    }

    private static func isTrue(_ value: JSON?) -> Bool {
        value?.boolValue ?? (value == "true")
    }
}
