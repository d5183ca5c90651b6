internal import Cryptography
internal import Pipeline
internal import SettingsReader

extension IssuerParts {
    static func openID(_ keys: SettingsMapping, _ reading: KeySourceReading) -> IssuerParts? {
        let discovers = keys.value("discovery", .boolean, default: false)
        // An issuer need not be a URL, such as accounts.google.com.
        let issuer = keys.required("issuer", discovers ? .issuer : .identifier)
        let algorithms = keys.has("secret") ? keys.secretAlgorithm() : keys.algorithms(default: [.rs256])
        let rules = rules(of: keys)
        return IssuerParts(
            .openID(rules), issuer: issuer,
            reading.openIDKeys(issuer: issuer, discovers: discovers, algorithms), algorithms)
    }

    private static func rules(of keys: SettingsMapping) -> OpenIDRules {
        let words = ScalarFormat.word(among: [TokenUse.access, .id].map(\.rawValue))
        let use = keys.value("token_use", words).flatMap(TokenUse.init) ?? .access
        let types = keys.list("types", .tokenType, of: "values of typ")
        if keys.isEmptyList("types") { keys.error("types", "must name at least one") }
        let groups = keys.optional("groups_claim")?.readClaimPath()
        return OpenIDRules(
            audiences: Set(audiences(of: keys, "audiences")), tokenUse: use,
            types: types.map { TokenTypes($0, isRequired: true) },
            requiredClaims: keys.list("required_claims", .text, of: "claims") ?? [],
            groupsClaim: groups ?? ClaimPath(["groups"]))
    }
}

extension ScalarFormat where Value == String {
    /// A token type (media type) that is not reserved for tokens other than access and identity tokens.
    fileprivate static var tokenType: Self {
        let others = ["session+jwt", "dpop+jwt", "logout+jwt", "secevent+jwt", "token-introspection+jwt"]
        return Self { (text) throws(ScalarRefusal) in
            let name = TokenTypes.normal(try ScalarFormat.identifier.read(text))
            guard !others.contains(name) else { throw ScalarRefusal("is the type of tokens for something else") }
            return text
        }
    }
}
