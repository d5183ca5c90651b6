internal import Cryptography
internal import Encoding
internal import Pipeline

/// A client's response to a challenge.
enum ChallengeAnswer: Sendable {
    case code(Secret)
    case newPassword(Secret)
    /// One of the listed methods.
    case choice(String)
    case password(Secret)
    /// An authenticator's response (AuthenticationResponseJSON).
    case credential(Secret)
    /// The response to a challenge of the pool's triggers.
    case text(Secret)
    /// The first code of a new authenticator app.
    case setUpCode(Secret)
    /// The address for codes by message, with Cognito's name for its kind.
    case setUpAddress(kind: String, String)

    init(to challenge: Challenge, _ fields: inout RequestFields) {
        switch challenge {
        case .sms, .totp, .email, .smsCode: self = .code(Secret(fields.requiredText("code", atMost: 128, .code)))
        case .newPassword: self = .newPassword(Secret(fields.requiredText("new_password", atMost: 256, .password)))
        case .selection, .choice: self = .choice(fields.requiredText("answer", atMost: 64, .code))
        case .password, .passwordProof:
            self = .password(Secret(fields.requiredText("password", atMost: 256, .password)))
        case .custom: self = .text(Secret(fields.requiredText("answer", atMost: 2048, .password)))
        case .passkey: self = .credential(fields.requiredCredential())
        case .setUp: self = Self.setUp(&fields)
        }
    }

    private static func setUp(_ fields: inout RequestFields) -> ChallengeAnswer {
        if let email = fields.optionalFilledText("email", atMost: 128, .email) {
            return .setUpAddress(kind: "EMAIL", email)
        }
        if let number = fields.optionalText("phone_number", atMost: 16, .address) {
            if AccountNameKind(number) != .phoneNumber { fields.refuse("phone_number", "must be like +15551234567") }
            return .setUpAddress(kind: "PHONE_NUMBER", number)
        }
        return .setUpCode(Secret(fields.requiredText("code", atMost: 128, .code)))
    }

    /// Returns the members of `ChallengeResponses`.
    func responses(to challenge: Challenge) -> JSONObject {
        switch self {
        case .code(let code): [challenge.rawValue + "_CODE": .string(code.exposeText())]
        case .newPassword(let password): ["NEW_PASSWORD": .string(password.exposeText())]
        case .choice(let name): ["ANSWER": .string(name)]
        case .password(let password): ["PASSWORD": .string(password.exposeText())]
        case .credential(let credential): ["CREDENTIAL": .string(credential.exposeText())]
        case .text(let text): ["ANSWER": .string(text.exposeText())]
        case .setUpCode: [:]
        case .setUpAddress(let kind, let address): [kind: .string(address)]
        }
    }
}

extension RequestFields {
    /// Reads `credential`, the JSON of an authenticator's response.
    mutating func requiredCredential() -> Secret {
        guard let object = requiredObject("credential") else { return Secret("") }
        return Secret(JSON.object(object).encoded())
    }
}
