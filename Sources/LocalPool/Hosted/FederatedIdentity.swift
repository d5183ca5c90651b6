internal import Encoding

/// The identity provider of a user, and the user's id there.
struct FederatedIdentity: Sendable, Equatable {
    var provider: String
    /// The type in `identities`, such as `Google`, `SAML` or `OIDC`.
    var providerType: String
    /// The user's id at the provider.
    var userID: String

    /// The user name that Cognito assigns.
    var username: String { "\(provider)_\(userID)" }

    /// The element of the claim and attribute `identities`.
    func claim(createdAt: Int64) -> JSON {
        [
            "userId": .string(userID), "providerName": .string(provider), "providerType": .string(providerType),
            "issuer": .null, "primary": "true", "dateCreated": .string("\(createdAt * 1000)"),
        ]
    }

    /// The stored form, as JSON text.
    var stored: String {
        JSON.object([
            "provider": .string(provider), "type": .string(providerType), "user_id": .string(userID),
        ]).text
    }

    init(provider: String, providerType: String, userID: String) {
        self.provider = provider
        self.providerType = providerType
        self.userID = userID
    }

    init?(stored: String?) {
        guard let object = stored.flatMap({ try? JSON.parse(text: $0) })?.objectValue,
            let provider = object["provider"]?.stringValue, let type = object["type"]?.stringValue,
            let userID = object["user_id"]?.stringValue
        else { return nil }
        self.init(provider: provider, providerType: type, userID: userID)
    }
}
