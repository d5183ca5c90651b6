internal import SettingsReader

extension LocalPoolConfiguration {
    /// A Lambda trigger of the pool.
    package enum Trigger: String, Sendable, CaseIterable {
        case preSignUp = "pre_sign_up"
        case postConfirmation = "post_confirmation"
        case preAuthentication = "pre_authentication"
        case postAuthentication = "post_authentication"
        case preTokenGeneration = "pre_token_generation"
        case customMessage = "custom_message"

        /// The name in Cognito's messages.
        var name: String {
            switch self {
            case .preSignUp: "PreSignUp"
            case .postConfirmation: "PostConfirmation"
            case .preAuthentication: "PreAuthentication"
            case .postAuthentication: "PostAuthentication"
            case .preTokenGeneration: "PreTokenGeneration"
            case .customMessage: "CustomMessage"
            }
        }
    }

    /// A trigger that refuses.
    package struct TriggerRefusal: Sendable {
        /// The message of the exception that the trigger throws.
        var message: String
        /// The affected e-mail addresses in lower case; nil: all.
        var users: Set<String>?

        package init(message: String, users: [String]? = nil) {
            self.message = message
            self.users = users.map { Set($0.map { $0.lowercased() }) }
        }
    }
}

extension LocalPoolConfiguration.TriggerRefusal {
    /// Reads the section `triggers`.
    static func all(_ keys: SettingsMapping) -> [LocalPoolConfiguration.Trigger: Self] {
        var refusals: [LocalPoolConfiguration.Trigger: Self] = [:]
        for trigger in LocalPoolConfiguration.Trigger.allCases {
            refusals[trigger] = keys.optional(trigger.rawValue)?.section { keys in
                Self(
                    message: keys.required("refuse", .text) ?? "",
                    users: keys.list("users", .emailAddress, of: "e-mail addresses"))
            }
        }
        return refusals
    }
}
