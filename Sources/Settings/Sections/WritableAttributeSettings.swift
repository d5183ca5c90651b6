internal import Pipeline
internal import SettingsReader

/// The attributes that a pool's users may set, as the file has them.
struct WritableAttributeSettings: Sendable {
    /// The place of `writable_attributes`, even if the file lacks it.
    fileprivate let place: SettingsPlace
    /// Nil if the file lacks the key.
    fileprivate let given: [(name: String, place: SettingsPlace)]?

    init(of keys: SettingsMapping) {
        let node = keys.optional("writable_attributes")
        place = node?.place ?? keys.node.place.key("writable_attributes", line: keys.node.place.line, column: nil)
        given = node?.elements(expected: "attribute names").map { elements in
            var names: [(name: String, place: SettingsPlace)] = []
            for element in elements {
                guard let name = element.read(.userAttribute) else { continue }
                if names.contains(where: { $0.name == name }) { element.refuse("is given more than once") }
                names.append((name, element.place))
            }
            return names
        }
    }

    /// The names alone, before those that access depends on are removed.
    var names: [String] { given?.map(\.name) ?? WritableAttributes.standard.names }
}

/// An attribute that decides about access, or that a backend receives as part of an identity.
private struct AttributeUse {
    var attribute: String
    /// Such as `routes[api].require`.
    var place: String
}

extension GatewaySettings {
    /// Prevents users from setting attributes that decide about their access. If a `require`, `identity.claims` or
    /// `groups_claim` uses an attribute that the file lists, that is an error; a default attribute is removed with a
    /// warning.
    mutating func settleWritableAttributes(_ context: SettingsContext) {
        if let pool = signIn.cognito { signIn.cognito = settled(pool, context) }
        signIn.morePools = signIn.morePools.map { settled($0, context) }
    }

    private mutating func settled(
        _ pool: CognitoSettings, _ context: SettingsContext
    ) -> CognitoSettings {
        guard let attributes = pool.attributes,
            let issuer = issuers.first(where: { $0.name == pool.issuer })?.issuer
        else { return pool }
        let uses = attributeUses(of: issuer)
        for (name, place) in attributes.given ?? [] {
            guard let use = uses.first(where: { $0.attribute == name }) else { continue }
            context.error("\(name) decides about access (\(use.place)): users must not set it themselves", at: place)
        }
        var settled = pool
        settled.attributes = nil
        settled.decidingAttributes = Set(uses.map(\.attribute)).sorted()
        guard attributes.given == nil else { return settled }
        let writable = pool.signIn.writableAttributes
        settled.signIn.writableAttributes = WritableAttributes(
            writable.names.filter { name in !uses.contains { $0.attribute == name } })
        for use in uses where writable.contains(use.attribute) {
            attributeWarnings.append(
                SettingsWarning(
                    kind: .writableAttribute, place: attributes.place,
                    "users cannot set \(use.attribute), since \(use.place) uses it: list the attributes that they can"))
        }
        return settled
    }

    /// The uses of attributes of this issuer. All issuers with the pool's `iss` are the pool, whatever their profile.
    private func attributeUses(of issuer: String) -> [AttributeUse] {
        let names = issuers.filter { $0.issuer == issuer }
        var uses: [AttributeUse] = []
        for route in routes where route.issuers.contains(where: { name in names.contains { $0.name == name } }) {
            uses += (route.requirements?.decidingAttributes ?? []).map {
                AttributeUse(attribute: $0, place: "routes[\(route.name)].require")
            }
        }
        uses += identity.claims.map {
            AttributeUse(attribute: $0.claim.names[0], place: "identity.claims.\($0.header)")
        }
        for case (let name, .openID(let rules)) in names.map({ ($0.name, $0.rules) }) {
            uses.append(AttributeUse(attribute: rules.groupsClaim.names[0], place: "issuers.\(name).groups_claim"))
            uses += rules.requiredClaims.map { AttributeUse(attribute: $0, place: "issuers.\(name).required_claims") }
            // The claim that this profile puts into the identity headers as the user name.
            uses.append(AttributeUse(attribute: "preferred_username", place: "issuers.\(name)"))
        }
        return uses
    }
}

extension Requirements {
    /// The attributes that the required claims are from. Addresses that must also be verified are excluded, since users
    /// can't choose them freely: Cognito marks a changed address as unverified.
    fileprivate var decidingAttributes: [String] {
        let provesPhone = claims.contains {
            $0.claim.names == ["phone_number_verified"] && $0.test == .oneOf(["true"])
        }
        return claims.map { $0.claim.names[0] }.filter { name in
            !(name == "email" && emailVerified) && !(name == "phone_number" && provesPhone)
        }
    }
}

extension ScalarFormat where Value == String {
    /// The name of an attribute that users may set.
    fileprivate static var userAttribute: Self {
        Self(show: { $0 }) { (text) throws(ScalarRefusal) in
            guard WritableAttributes.canHold(text) else {
                let standard = WritableAttributes.standard.names + ["email", "preferred_username"]
                throw ScalarRefusal(
                    "must be an attribute that users can set, like given_name or custom:theme",
                    suggestion: suggestion(for: text, among: standard))
            }
            return text
        }
    }
}
