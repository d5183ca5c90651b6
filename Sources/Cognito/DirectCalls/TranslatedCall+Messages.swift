internal import Encoding
internal import Pipeline

extension TranslatedCall {
    /// The first factors for which no code is sent.
    private static let silentFactors: Set<ExactText> = ["PASSWORD", "PASSWORD_SRP", "WEB_AUTHN"]

    /// Whether Cognito, or a trigger of the pool, may send a code for the call. A second factor's code does not count:
    /// it is sent to the user's own address, after a right password.
    package var maySendCode: Bool {
        switch ExactText(operation) {
        case "InitiateAuth":
            switch ExactText(input["AuthFlow"]?.stringValue ?? "") {
            case "CUSTOM_AUTH": true
            case "USER_AUTH": Self.sendsCode(input["AuthParameters"]?["PREFERRED_CHALLENGE"])
            default: false
            }
        case "RespondToAuthChallenge":
            switch ExactText(input["ChallengeName"]?.stringValue ?? "") {
            case "SELECT_CHALLENGE": Self.sendsCode(input["ChallengeResponses"]?["ANSWER"])
            // The set-up of an authenticator app has neither member.
            case "MFA_SETUP": ["EMAIL", "PHONE_NUMBER"].contains { input["ChallengeResponses"]?[$0] != nil }
            default: false
            }
        case "UpdateUserAttributes":
            input.contains { name, value in
                name.foldedCase.hasSameBytes(as: "userattributes") && Self.holdsAddress(value)
            }
        default: false
        }
    }

    /// The addresses in a registration that a code may be sent to, other than the name that limits count. At most one
    /// of each kind, since Cognito accepts no more.
    package var registeredAddresses: [String] {
        let attributes = input["UserAttributes"]?.arrayValue ?? []
        let addresses = ["email", "phone_number"].compactMap { kind in
            attributes.first { ($0["Name"]?.stringValue).hasSameBytes(as: kind) }?["Value"]?.stringValue
        }
        return addresses.filter { !$0.foldedCase.hasSameBytes(as: (account ?? "").foldedCase) }
    }

    private static func sendsCode(_ factor: JSON?) -> Bool {
        factor?.stringValue.map { !silentFactors.contains(ExactText($0)) } ?? false
    }

    private static func holdsAddress(_ attributes: JSON) -> Bool {
        (attributes.arrayValue ?? []).contains { attribute in
            attribute["Name"]?.stringValue?.isOne(of: ["email", "phone_number"]) == true
        }
    }
}
