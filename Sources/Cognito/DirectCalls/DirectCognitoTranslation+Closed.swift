internal import Cryptography
internal import Encoding
internal import Pipeline

extension TranslatedCall {
    /// The steps that a password is proven in.
    fileprivate static let passwordSteps: Set<ExactText> = [
        "PASSWORD_VERIFIER", "PASSWORD", "PASSWORD_SRP", "SELECT_CHALLENGE",
    ]
    /// The steps in which something can be guessed.
    fileprivate static let guessableSteps: Set<ExactText> = passwordSteps.union([
        "SMS_MFA", "SOFTWARE_TOKEN_MFA", "EMAIL_OTP", "SMS_OTP", "CUSTOM_CHALLENGE", "WEB_AUTHN",
        "DEVICE_PASSWORD_VERIFIER",
    ])

    fileprivate var challenge: ExactText { ExactText(input["ChallengeName"]?.stringValue ?? "") }

    /// Whether the password in a first step is looked at.
    fileprivate var isPasswordSignIn: Bool {
        input["AuthFlow"] == "USER_PASSWORD_AUTH"
            || input["AuthFlow"] == "USER_AUTH" && input["AuthParameters"]?["PREFERRED_CHALLENGE"] == "PASSWORD"
    }

    /// Whether a challenge in response to this call follows on a right password.
    package var provesPassword: Bool {
        switch ExactText(operation) {
        case "InitiateAuth": input["AuthFlow"] == "USER_PASSWORD_AUTH"
        case "RespondToAuthChallenge": challenge == "PASSWORD_VERIFIER" || challenge == "PASSWORD"
        default: false
        }
    }
}

// An account that is closed. Nothing may tell so to a caller who has not proven the password: the name in the call may
// be another one of an account whose first name they know.
extension DirectCognitoTranslation {
    /// Makes a call for an account that is closed fail as one with a wrong password or code does.
    ///
    /// - Parameters:
    ///   - seconds: until it is open again.
    ///   - signIn: that the call is a step of; nil for a first one, and where nobody knows.
    /// - Throws: that it is closed, where the password is proven already.
    package func fail(
        _ call: inout TranslatedCall, closedFor seconds: Int, in signIn: SignInUnderWay?
    ) throws(DirectCognitoRefusal) {
        if var parameters = call.input["AuthParameters"]?.objectValue {
            // A proof in a later step fails there.
            guard parameters["PASSWORD"] != nil else { return }
            parameters["PASSWORD"] = .string(Decoy.password().exposeText())
            call.input["AuthParameters"] = .object(parameters)
            // A flow that reads no password goes on as it would for any account.
            guard call.isPasswordSignIn else { return }
            // Cognito counts wrong passwords too: not against the user, whose password this is not.
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

    /// Members that prove nothing. Whatever else there is becomes wrong: another member must not pass for the proof.
    private static let unproving: Set<ExactText> = [
        "USERNAME", "SECRET_HASH", "DEVICE_KEY", "SRP_A", "PASSWORD_CLAIM_SECRET_BLOCK", "TIMESTAMP",
    ]

    private static func wrong(_ responses: JSONObject, for challenge: ExactText) -> JSONObject {
        var wrong = responses
        for (name, value) in responses where !unproving.contains(ExactText(name)) {
            // The choice among several ways to sign in.
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
