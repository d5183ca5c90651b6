internal import SettingsReader

extension LocalPoolConfiguration {
    /// Cognito's AllowedFirstAuthFactors and WebAuthnConfiguration, and the replacement for the triggers of
    /// CUSTOM_AUTH.
    package struct Passwordless: Sendable {
        package var firstFactors: Set<FirstFactor> = [.password]
        /// Nil if the pool has no relying party.
        package var webAuthn: WebAuthn?
        /// In the order of the challenges; empty if the pool has no triggers for them.
        package var customChallenges: [CustomChallenge] = []
    }

    /// As in AllowedFirstAuthFactors.
    package enum FirstFactor: String, Sendable, CaseIterable {
        case password = "PASSWORD"
        case email = "EMAIL_OTP"
        case sms = "SMS_OTP"
        case passkey = "WEB_AUTHN"
    }

    package struct WebAuthn: Sendable {
        package enum UserVerification: String, Sendable, CaseIterable { case preferred, required }

        package var relyingPartyID: String
        package var userVerification = UserVerification.preferred
        /// Allowed origins besides the relying party's own, such as those of Android apps.
        package var origins: [String] = []

        package init(relyingPartyID: String) { self.relyingPartyID = relyingPartyID }
    }

    /// A custom challenge: the parameters that the triggers would show, and the correct answer.
    package struct CustomChallenge: Sendable {
        package var parameters: [String: String] = [:]
        package var answer: String
    }
}

extension LocalPoolConfiguration.Passwordless {
    init(reading file: SettingsMapping) {
        let node = file.optional("web_authn")
        webAuthn = node?.section(LocalPoolConfiguration.WebAuthn.init(reading:))
        firstFactors =
            file.list("first_factors", ScalarFormat<LocalPoolConfiguration.FirstFactor>.oneOf, of: "factors")
            .map { Set($0) } ?? firstFactors
        if firstFactors.contains(.passkey), node == nil {
            file.error("first_factors", "WEB_AUTHN needs web_authn.relying_party_id")
        }
        for element in file.optional("custom_auth")?.elements(expected: "challenges") ?? [] {
            let challenge = element.section(LocalPoolConfiguration.CustomChallenge.init(reading:))
            if let challenge { customChallenges.append(challenge) }
        }
    }
}

extension LocalPoolConfiguration.WebAuthn {
    fileprivate init(reading keys: SettingsMapping) {
        self.init(relyingPartyID: keys.required("relying_party_id", .identifier) ?? "")
        userVerification = keys.value("user_verification", .oneOf, default: userVerification)
        origins = keys.list("origins", .identifier, of: "origins") ?? []
    }
}

extension LocalPoolConfiguration.CustomChallenge {
    fileprivate init(reading keys: SettingsMapping) {
        self.init(answer: keys.required("answer", .text) ?? "")
        for (name, node) in keys.optional("parameters")?.identifiedEntries() ?? [] {
            parameters[name] = node.read(.text)
        }
    }
}
