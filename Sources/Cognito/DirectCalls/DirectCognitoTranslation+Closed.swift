internal import Cryptography
internal import Encoding
internal import Pipeline

extension TranslatedCall {
    /// The challenges in which a password is proven.
    fileprivate static let passwordSteps: Set<ExactText> = [
        "PASSWORD_VERIFIER", "PASSWORD", "PASSWORD_SRP", "SELECT_CHALLENGE",
    ]
    /// The challenges whose response can be guessed.
    fileprivate static let guessableSteps: Set<ExactText> = passwordSteps.union([
        "SMS_MFA", "SOFTWARE_TOKEN_MFA", "EMAIL_OTP", "SMS_OTP", "CUSTOM_CHALLENGE", "WEB_AUTHN",
        "DEVICE_PASSWORD_VERIFIER",
    ])

    fileprivate var challenge: ExactText { ExactText(input["ChallengeName"]?.stringValue ?? "") }

    /// Whether Cognito checks the password in this first step.
    fileprivate var isPasswordSignIn: Bool {
        input["AuthFlow"] == "USER_PASSWORD_AUTH"
            || input["AuthFlow"] == "USER_AUTH" && input["AuthParameters"]?["PREFERRED_CHALLENGE"] == "PASSWORD"
    }

    /// Whether a challenge in response to this call means that the password was right.
    package var provesPassword: Bool {
        switch ExactText(operation) {
        case "InitiateAuth": input["AuthFlow"] == "USER_PASSWORD_AUTH"
        case "RespondToAuthChallenge": challenge == "PASSWORD_VERIFIER" || challenge == "PASSWORD"
        default: false
        }
    }
}

// Calls for a locked account. Nothing may reveal the lock to a caller who has not proven the password: the name in the
// call may be an alias of an account that the caller knows by its first name.
extension DirectCognitoTranslation {
    /// Makes a call for a locked account fail like one with a wrong password or code.
    ///
    /// - Parameters:
    ///   - seconds: the remaining time of the lock.
    ///   - signIn: the sign-in that the call continues; nil for a first step, or if it is unknown.
    /// - Throws: 429 in Cognito's format, if the password is already proven.
    package func fail(
        _ call: inout TranslatedCall, closedFor seconds: Int, in signIn: SignInUnderWay?
    ) throws(DirectCognitoRefusal) {
        if var parameters = call.input["AuthParameters"]?.objectValue {
            // A flow with a proof in a later step fails there.
            guard parameters["PASSWORD"] != nil else { return }
            parameters["PASSWORD"] = .string(Decoy.password().exposeText())
            call.input["AuthParameters"] = .object(parameters)
            // A flow in which Cognito checks no password continues as for any account.
            guard call.isPasswordSignIn else { return }
            // A user name that nobody has: Cognito counts wrong passwords too, and must not count this one against the
            // user.
            replaceName(in: &call)
            call.isDecoy = true
            return
        }
        guard let responses = call.input["ChallengeResponses"]?.objectValue else { return }
        if signIn?.isPasswordProven == true, !TranslatedCall.passwordSteps.contains(call.challenge) {
            throw .tooManyRequests(after: seconds, reason: .limit(.lockout))
        }
        if TranslatedCall.guessableSteps.contains(call.challenge) {
            call.input["ChallengeResponses"] = .object(Self.wrong(responses, for: call.challenge))
        } else if signIn == nil {
            call.input["Session"] = .string(Decoy.session())
        }
    }

    /// The members that prove nothing. All others are replaced, so that no other member can serve as the proof.
    private static let unproving: Set<ExactText> = [
        "USERNAME", "SECRET_HASH", "DEVICE_KEY", "SRP_A", "PASSWORD_CLAIM_SECRET_BLOCK", "TIMESTAMP",
    ]

    private static func wrong(_ responses: JSONObject, for challenge: ExactText) -> JSONObject {
        var wrong = responses
        for (name, value) in responses where !unproving.contains(ExactText(name)) {
            // The choice of a sign-in method.
            if challenge == "SELECT_CHALLENGE", ExactText(name) == "ANSWER" { continue }
            wrong[name] = .string(decoy(name, value.stringValue ?? ""))
        }
        return wrong
    }

    private static func decoy(_ name: String, _ text: String) -> String {
        if ExactText(name) == "PASSWORD_CLAIM_SIGNATURE" { return Decoy.signature() }
        let isCode = (4...10).contains(text.utf8.count) && text.utf8.allSatisfy(isDigit)
        return isCode && ExactText(name) != "PASSWORD" ? Decoy.code(otherThan: text) : Decoy.password().exposeText()
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
