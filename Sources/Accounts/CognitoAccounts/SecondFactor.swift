internal import Encoding

/// A second factor that Cognito requires after the password, by the name of its challenge.
enum SecondFactor: String, Sendable, CaseIterable {
    case totp = "SOFTWARE_TOKEN_MFA"
    case sms = "SMS_MFA"
    case email = "EMAIL_OTP"

    /// The factor's member of SetUserMFAPreference.
    var setting: String {
        switch self {
        case .totp: "SoftwareTokenMfaSettings"
        case .sms: "SMSMfaSettings"
        case .email: "EmailMfaSettings"
        }
    }
}

/// A user's second factors.
struct SecondFactors: Sendable, Equatable {
    var enabled: Set<SecondFactor>
    var preferred: SecondFactor?
    /// The factors that can be enabled without another step: with a verified address, or an authenticator app that is
    /// set up.
    var available: Set<SecondFactor>

    init(enabled: Set<SecondFactor>, preferred: SecondFactor?, available: Set<SecondFactor> = []) {
        self.enabled = enabled
        self.preferred = preferred
        self.available = available
    }

    /// Reads the output of GetUser, which does not report an authenticator app that is set up but not enabled.
    init(output: JSONObject, user: AccountUser) {
        enabled = Set((output["UserMFASettingList"]?.arrayValue ?? []).compactMap(Self.factor))
        preferred = output["PreferredMfaSetting"].flatMap(Self.factor)
        available = enabled
        if user.emailVerified { available.insert(.email) }
        if user.attributes["phone_number_verified"] == true { available.insert(.sms) }
    }

    private static func factor(_ name: JSON) -> SecondFactor? {
        name.stringValue.flatMap { SecondFactor(exactly: $0) }
    }

    /// Returns the members of SetUserMFAPreference that lead to `wanted`; empty if nothing changes. Unchanged factors
    /// are omitted, because the pool may not have them.
    func changes(to wanted: SecondFactors) -> JSONObject {
        var changes: JSONObject = [:]
        for factor in SecondFactor.allCases {
            let now = (enabled.contains(factor), preferred == factor)
            let then = (wanted.enabled.contains(factor), wanted.preferred == factor)
            guard now != then else { continue }
            changes[factor.setting] = ["Enabled": .bool(then.0), "PreferredMfa": .bool(then.1)]
        }
        return changes
    }

    var object: JSONObject {
        [
            "enabled": Self.names(enabled), "preferred": preferred.map { .string($0.rawValue) } ?? .null,
            "available": Self.names(available),
        ]
    }

    private static func names(_ factors: Set<SecondFactor>) -> JSON {
        .array(SecondFactor.allCases.filter(factors.contains).map { .string($0.rawValue) })
    }
}
