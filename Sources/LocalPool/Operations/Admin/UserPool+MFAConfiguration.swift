internal import Encoding
internal import Store

extension UserPool {
    /// GetUserPoolMfaConfig.
    func getUserPoolMfaConfig(_ request: JSONObject) async throws -> JSONObject { mfaConfiguration }

    /// SetUserPoolMfaConfig: omitted second factors are disabled, and without any, MFA must be off, as at Cognito. The
    /// relying party is not a second factor and stays if omitted. Messages and SMS roles have no effect.
    func setUserPoolMfaConfig(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        var settings = factorSettings.current
        settings.mfa = try Self.mfa(fields, settings.mfa)
        if let webAuthn = try Self.webAuthn(fields, origins: settings.webAuthn?.origins ?? []) {
            settings.webAuthn = webAuthn
        }
        let changed = settings
        try await store.write { try factorSettings.store(changed, in: $0) }
        factorSettings.put(changed)
        return mfaConfiguration
    }

    private var mfaConfiguration: JSONObject {
        let (mfa, webAuthn) = (mfa, webAuthn)
        var answer: JSONObject = ["MfaConfiguration": mfaMode]
        if let webAuthn {
            answer["WebAuthnConfiguration"] = [
                "RelyingPartyId": .string(webAuthn.relyingPartyID),
                "UserVerification": .string(webAuthn.userVerification.rawValue),
            ]
        }
        guard mfa.mode != .off else { return answer }
        answer["SoftwareTokenMfaConfiguration"] = ["Enabled": .bool(mfa.methods.contains("SOFTWARE_TOKEN_MFA"))]
        if mfa.methods.contains("SMS_MFA") { answer["SmsMfaConfiguration"] = [:] }
        if mfa.methods.contains("EMAIL_OTP") { answer["EmailMfaConfiguration"] = [:] }
        return answer
    }

    /// Cognito's name of the mode.
    var mfaMode: JSON {
        switch mfa.mode {
        case .off: "OFF"
        case .optional: "OPTIONAL"
        case .required: "ON"
        }
    }

    /// The second factors that a request sets. A request without any, for the relying party alone, keeps the current
    /// ones.
    private static func mfa(
        _ fields: RequestFields, _ current: LocalPoolConfiguration.MFA
    ) throws(PoolError) -> LocalPoolConfiguration.MFA {
        let methods = try methods(fields)
        let word = try fields.optional("MfaConfiguration")
        guard word != nil || !methods.isEmpty else { return current }
        guard let mode = word.map(Self.mode) ?? current.mode else {
            throw RequestFields.violation(
                "Value at 'mfaConfiguration'", "Member must satisfy enum value set: [OFF, ON, OPTIONAL]")
        }
        if mode == .off, !methods.isEmpty {
            throw .invalidParameter(
                "Invalid MFA configuration given, can't turn off MFA and configure an MFA together.")
        }
        if mode != .off, methods.isEmpty {
            throw .invalidParameter(
                "Invalid MFA configuration given, can't disable all MFAs with a required or optional configuration.")
        }
        var mfa = current
        (mfa.mode, mfa.methods) = (mode, methods)
        return mfa
    }

    private static func mode(_ word: String) -> LocalPoolConfiguration.MFA.Mode? {
        switch word {
        case "OFF": .off
        case "OPTIONAL": .optional
        case "ON": .required
        default: nil
        }
    }

    private static func methods(_ fields: RequestFields) throws(PoolError) -> Set<String> {
        var methods: Set<String> = []
        for (member, method) in [("SmsMfaConfiguration", "SMS_MFA"), ("EmailMfaConfiguration", "EMAIL_OTP")] {
            _ = try fields.structure(member)
            if let value = fields.object[member], value != .null { methods.insert(method) }
        }
        if try fields.structure("SoftwareTokenMfaConfiguration").flag("Enabled") {
            methods.insert("SOFTWARE_TOKEN_MFA")
        }
        return methods
    }

    private static func webAuthn(
        _ fields: RequestFields, origins: [String]
    ) throws(PoolError) -> LocalPoolConfiguration.WebAuthn? {
        let given = try fields.structure("WebAuthnConfiguration")
        guard !given.object.isEmpty else { return nil }
        var party = LocalPoolConfiguration.WebAuthn(
            relyingPartyID: try given.required("RelyingPartyId", maximum: 127))
        party.origins = origins
        guard let word = try given.optional("UserVerification") else { return party }
        guard let verification = LocalPoolConfiguration.WebAuthn.UserVerification(rawValue: word) else {
            throw RequestFields.violation(
                "Value at 'webAuthnConfiguration.userVerification'",
                "Member must satisfy enum value set: [required, preferred]")
        }
        party.userVerification = verification
        return party
    }
}
