internal import Encoding
package import Pipeline
internal import SettingsReader

/// The section `identity.user_attributes`: attributes of a user pool's users that are added to the identity of access
/// tokens.
package struct UserAttributeSettings: Sendable {
    package var rule: UserAttributeRule
    /// The maximum time that a request waits for the attributes.
    package var timeout: Duration
    /// The URL of Cognito's API, unless account calls of the pool use another one.
    var poolEndpoint: ServiceURL
}

extension UserAttributeSettings {
    private static let mostAttributes = 16

    init?(reading keys: SettingsMapping, known: KnownNames) {
        let issuer = keys.required("issuer", .reference(to: "issuer", among: known.issuers))
            .flatMap(known.issuer(named:))
        if let issuer, issuer.pool == nil {
            keys.error("issuer", "must be a user pool: issuers.\(issuer.name) has another profile than cognito")
        }
        let attributes = Self.attributes(keys)
        let onFailure = keys.value("on_failure", .word(among: ["closed", "open"]), default: "closed")
        timeout = keys.value("timeout", .duration(.milliseconds(100) ... .seconds(30)), default: .seconds(2))
        guard let issuer, let pool = issuer.pool else { return nil }
        poolEndpoint = pool.endpoint
        rule = UserAttributeRule(issuer: issuer.name, attributes: attributes, failsOpen: onFailure == "open")
    }

    private static func attributes(_ keys: SettingsMapping) -> [String] {
        guard let node = keys.required("attributes") else { return [] }
        if keys.isEmptyList("attributes") { keys.error("attributes", "must name at least one") }
        var names: [String] = []
        for element in node.elements(expected: "attribute names") ?? [] {
            guard let name = element.read(.readableAttribute) else { continue }
            if names.contains(name) { element.refuse("is given more than once") }
            names.append(name)
        }
        if names.count > mostAttributes { keys.error("attributes", "must name at most \(mostAttributes)") }
        return names
    }

    /// The URL of Cognito's API: the endpoint of the same pool's account calls, otherwise the region's.
    package func endpoint(_ pools: [CognitoSettings]) -> ServiceURL {
        pools.first { $0.issuer == rule.issuer }?.endpoint ?? poolEndpoint
    }
}

extension ScalarFormat where Value == String {
    /// The name of an attribute that Cognito returns for a user.
    fileprivate static var readableAttribute: Self {
        Self(show: { $0 }) { (text) throws(ScalarRefusal) in
            guard UserAttributeRule.canHold(text) else {
                let standard = WritableAttributes.standard.names + ["email", "email_verified", "preferred_username"]
                throw ScalarRefusal(
                    "must be an attribute of users, like email or custom:plan",
                    suggestion: suggestion(for: text, among: standard))
            }
            return text
        }
    }
}
