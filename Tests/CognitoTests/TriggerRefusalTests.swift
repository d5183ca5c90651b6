import Testing

@testable import Cognito

@Suite("Refusals by triggers")
struct TriggerRefusalTests {
    @Test(
        "A trigger's own message is plain text and bounded",
        arguments: [
            ("PreSignUp failed with error Not today.", "Not today", "PreSignUp"),
            ("PreSignUp failed with error Not today..", "Not today.", "PreSignUp"),
            ("PreSignUp failed with error a failed with error b.", "a failed with error b", "PreSignUp"),
            ("PostConfirmation failed with error <b>Nö</b>\u{1B}[31m\n\t now.", "bNö/b[31m now", "PostConfirmation"),
            ("PreSignUp failed with error \u{202E}abc\u{200B}\u{FEFF}.", "abc", "PreSignUp"),
            ("PreSignUp failed with error \u{0}\u{2028}.", nil, "PreSignUp"),
            ("PreSignUp failed with error .", nil, "PreSignUp"),
            ("Custom words of a stranger", nil, ""), ("failed with error x.", nil, ""), ("", nil, ""),
            ("A b failed with error x.", nil, ""),
        ] as [(String, String?, String)])
    func message(text: String, expected: String?, trigger: String) {
        let refusal = TriggerRefusal(CognitoError(type: "UserLambdaValidationException", message: text))
        #expect(refusal.message == expected)
        #expect(refusal.trigger == trigger)
    }

    @Test("A long message is cut off")
    func long() {
        let text = "PreSignUp failed with error " + String(repeating: "é", count: 300) + "."
        let refusal = TriggerRefusal(CognitoError(type: "UserLambdaValidationException", message: text))
        #expect(refusal.message == String(repeating: "é", count: 200))
    }

    @Test(
        "Only some triggers run after a proof",
        arguments: [
            ("PreSignUp", false), ("PreAuthentication", false), ("UserMigration", false), ("CustomMessage", false),
            ("DefineAuthChallenge", false), ("PostAuthentication", true), ("PostConfirmation", true),
            ("PreTokenGeneration", true),
        ])
    func proof(trigger: String, followsProof: Bool) {
        let error = CognitoError(type: "UserLambdaValidationException", message: "\(trigger) failed with error x.")
        #expect(TriggerRefusal(error).followsProof == followsProof)
    }
}
