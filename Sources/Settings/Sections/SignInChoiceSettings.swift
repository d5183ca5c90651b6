internal import Pipeline
internal import SettingsReader

extension SignInChoiceSettings {
    /// Reads `passwordless`, `custom_auth` and `client_metadata` of a pool's section.
    init(reading keys: SettingsMapping) {
        self.init()
        _ = keys.optional("passwordless")?.section { self.readFactors($0) }
        allowsCustom = keys.value("custom_auth", .boolean, default: false)
        metadataKeys = keys.list("client_metadata", .metadataKey, of: "keys") ?? []
    }

    private mutating func readFactors(_ keys: SettingsMapping) {
        _ = keys.required("factors")
        if keys.isEmptyList("factors") { keys.error("factors", "must name at least one factor") }
        for factor in keys.list("factors", ScalarFormat<SignInFactor>.oneOf, of: "factors") ?? [] {
            if factors.contains(factor) { keys.error("factors", "names \(factor.rawValue) twice") }
            factors.append(factor)
        }
        relyingPartyID = keys.value("relying_party_id", .identifier) ?? ""
        userVerification = keys.value("user_verification", .oneOf, default: userVerification)
        if factors.contains(.passkey), !keys.has("relying_party_id") {
            keys.errorOrMissing("relying_party_id", "is needed for WEB_AUTHN: the pool's relying party ID")
        }
    }
}

extension ScalarFormat where Value == String {
    /// A key of `client_metadata`.
    fileprivate static var metadataKey: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ScalarRefusal("must be 1 to 64 visible ASCII characters without spaces")
            }
            return text
        }
    }
}
