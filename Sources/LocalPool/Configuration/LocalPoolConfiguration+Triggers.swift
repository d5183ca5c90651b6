internal import SettingsReader

extension LocalPoolConfiguration {
    /// A Lambda trigger of the pool's.
    package enum Trigger: String, Sendable, CaseIterable {
        case preSignUp = "pre_sign_up"
        case postConfirmation = "post_confirmation"
        case preAuthentication = "pre_authentication"
        case postAuthentication = "post_authentication"
        case preTokenGeneration = "pre_token_generation"
        case customMessage = "custom_message"

        /// As Cognito calls it in its messages.
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

    /// A trigger that says no.
    package struct TriggerRefusal: Sendable {
        /// The text of the exception that it throws.
        var message: String
        /// E-mail addresses in lower case; nil: everybody's.
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
