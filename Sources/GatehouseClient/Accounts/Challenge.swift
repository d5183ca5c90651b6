/// One more step that a sign-in needs.
public struct Challenge: Sendable, Hashable, Decodable {
    /// The kind of step. Pools may ask for others than those listed here.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let smsCode = Kind(rawValue: "SMS_MFA")
        public static let authenticatorCode = Kind(rawValue: "SOFTWARE_TOKEN_MFA")
        public static let emailCode = Kind(rawValue: "EMAIL_OTP")
        /// A code that came by SMS, in place of a password.
        public static let smsOneTimeCode = Kind(rawValue: "SMS_OTP")
        public static let newPasswordRequired = Kind(rawValue: "NEW_PASSWORD_REQUIRED")
        /// A choice among `Challenge.methods`.
        public static let selectSecondFactor = Kind(rawValue: "SELECT_MFA_TYPE")
        /// A choice among `Challenge.methods`.
        public static let selectChallenge = Kind(rawValue: "SELECT_CHALLENGE")
        public static let secondFactorSetup = Kind(rawValue: "MFA_SETUP")
        public static let password = Kind(rawValue: "PASSWORD")
        public static let passkey = Kind(rawValue: "WEB_AUTHN")
        /// A question of the pool's own triggers.
        public static let custom = Kind(rawValue: "CUSTOM_CHALLENGE")
    }

    public let kind: Kind
    /// Where a code went, masked, and other values of the pool.
    public let parameters: [String: JSONValue]
    let session: Secret

    private enum CodingKeys: String, CodingKey {
        case session, parameters
        case kind = "challenge"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = Kind(rawValue: try container.decode(String.self, forKey: .kind))
        session = try container.decode(Secret.self, forKey: .session)
        parameters = try container.decodeIfPresent([String: JSONValue].self, forKey: .parameters) ?? [:]
    }

    /// Where the code went, masked; nil if the pool does not say.
    public var destination: String? { parameters["destination"]?.text }
    /// The factors to choose from; empty for challenges that offer none.
    public var methods: [String] { parameters["methods"]?.texts ?? [] }
}

public enum ChallengeAnswer: Sendable {
    case code(String)
    case password(String)
    /// The new password, with attributes that the challenge's `required_attributes` names.
    case newPassword(String, attributes: [String: String] = [:])
    /// One of `Challenge.methods`, or the response to a pool's own question.
    case choice(String)
    /// The address for codes, to set a second factor up.
    case email(String)
    /// The telephone number for codes, to set a second factor up.
    case phoneNumber(String)
    /// The authenticator's response (Web Authentication Level 3, section 5.1.8, AuthenticationResponseJSON).
    case passkey(JSONValue)

    var body: [String: JSONValue] {
        switch self {
        case .code(let code): return ["code": .string(code)]
        case .password(let password): return ["password": .string(password)]
        case .newPassword(let password, let attributes):
            var body: [String: JSONValue] = ["new_password": .string(password)]
            body["attributes"] = attributes.json
            return body
        case .choice(let choice): return ["answer": .string(choice)]
        case .email(let address): return ["email": .string(address)]
        case .phoneNumber(let number): return ["phone_number": .string(number)]
        case .passkey(let credential): return ["credential": credential]
        }
    }
}
