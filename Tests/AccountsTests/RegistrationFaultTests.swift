import Cognito
import Encoding
import HTTPTypes
import Pipeline
import Testing

@testable import Accounts

@Suite("A registration that Cognito refuses")
struct RegistrationFaultTests {
    /// The forms of Cognito's message over the years, as reports show them.
    static let schemas: [(String, [String: String])] = [
        (
            "name.givenName: The attribute name.givenName is required\n",
            ["attributes.given_name": "is required"]
        ),
        (
            "name.givenName: The attribute name.givenName is required,\nname.familyName: The attribute name.familyName "
                + "is required", ["attributes.given_name": "is required", "attributes.family_name": "is required"]
        ),
        (
            "given_name: The attribute is required\nfamily_name: The attribute is required\nupdated_at: The attribute "
                + "is required\n",
            [
                "attributes.given_name": "is required", "attributes.family_name": "is required",
                "attributes.updated_at": "is required",
            ]
        ),
        (
            "name: The attribute is required family_name: The attribute is required",
            ["name": "is required", "attributes.family_name": "is required"]
        ),
        ("name.formatted: The attribute is required\n", ["name": "is required"]),
        ("phoneNumbers: The attribute is required\n", ["attributes.phone_number": "is required"]),
        ("emails: The attribute is required\n", ["email": "is required"]),
        (
            "custom:firstName: Attribute does not exist in the schema.\n",
            ["attributes.custom:firstName": "is not an attribute of the pool"]
        ),
        (
            "Type for attribute {custom:userId} could not be determined",
            ["attributes.custom:userId": "is not an attribute of the pool"]
        ),
        (
            "The attribute preferredUsername is not defined in schema.",
            ["attributes.preferred_username": "is not an attribute of the pool"]
        ),
        (
            "custom:plan: String must be shorter than 9 characters\n",
            ["attributes.custom:plan": "does not conform to the pool's schema"]
        ),
        (
            "custom:secret_question: The attribute is required\n",
            ["attributes.custom:secret_question": "is required"]
        ),
        ("something new", ["attributes": "do not conform to the pool's schema"]),
        ("\u{0}<b>: The attribute is required", ["attributes": "do not conform to the pool's schema"]),
    ]

    @Test("Every form of the message about attributes names the fields", arguments: schemas.indices)
    func schema(index: Int) throws {
        let (text, fields) = Self.schemas[index]
        let error = CognitoError(
            type: "InvalidParameterException", message: "Attributes did not conform to the schema: \(text)")
        let fault = try #require(RegistrationFault(error, Self.names, hasAttributes: false))
        #expect(Dictionary(uniqueKeysWithValues: fault.fields.map { ($0.key.text, $0.value) }) == fields)
    }

    static let messages: [(String, String, String)] = [
        ("Username should be an email.", "email", "must be an e-mail address"),
        (
            "Username should be either an email or a phone number.", "email",
            "must be an e-mail address or a telephone number"
        ),
        (
            "Username cannot be of email format, since user pool is configured for email alias.", "email",
            "must not be an e-mail address"
        ),
        (
            "Invalid phone number format.", "attributes.phone_number",
            "must be a telephone number with a plus sign and the country code"
        ),
        ("Invalid email address format.", "email", "must be an e-mail address"),
    ]

    @Test("A message about the name or an address names its field", arguments: messages.indices)
    func message(index: Int) {
        let (message, field, text) = Self.messages[index]
        let error = CognitoError(type: "InvalidParameterException", message: message)
        #expect(RegistrationFault(error, Self.names, hasAttributes: false)?.fields == [ExactText(field): text])
    }

    @Test("A value that Cognito refuses for a reason of its own is one of the attributes, unless it is the password")
    func unknownReason() {
        let error = CognitoError(type: "InvalidParameterException", message: "Invalid birthdate format.")
        #expect(
            RegistrationFault(error, Self.names, hasAttributes: true)?.fields
                == ["attributes": "have a value that the pool does not take"])
        #expect(RegistrationFault(error, Self.names, hasAttributes: false) == nil)
        let password = CognitoError(
            type: "InvalidParameterException", message: "1 validation error detected: Value at 'password' failed …")
        #expect(RegistrationFault(password, Self.names, hasAttributes: true) == nil)
    }

    @Test("Other errors name no field", arguments: ["Invalid password", "Incorrect username or password."])
    func other(message: String) {
        let error = CognitoError(type: "NotAuthorizedException", message: message)
        #expect(RegistrationFault(error, Self.names, hasAttributes: false) == nil)
    }

    @Test("SignUp that is not permitted is a kind of its own")
    func notPermitted() {
        let error = CognitoError(type: "NotAuthorizedException", message: "SignUp is not permitted for this user pool")
        #expect(error.kind == .signUpNotPermitted)
        let refusal = AccountRefusals.refusal(error, at: .registration, AccountRefusals.Rules())
        #expect(refusal.error == .accessDenied && refusal.response.status == .forbidden)
    }

    /// The registration of an e-mail address.
    static var names: RegisteredName {
        var fields = RequestFields(["email": "ada@example.com"])
        let settings = CognitoSignInSettings(
            endpoint: "", issuer: "", poolID: "", clientID: "", clientSecret: nil)
        return RegisteredName(&fields, settings)
    }

    @Test(
        "A trigger before the proof tells of no account that is concealed",
        arguments: [
            (CallStage.signIn, 401), (.oneTimeCode, 422), (.firstFactor, 401), (.code, 422), (.challenge, 403),
            (.bearer, 403),
        ])
    func concealedTriggers(stage: CallStage, status: Int) {
        let error = CognitoError(
            type: "UserLambdaValidationException", message: "PreAuthentication failed with error Not you.")
        let refusal = AccountRefusals.refusal(error, at: stage, AccountRefusals.Rules(conceals: true))
        #expect(refusal.response.status.code == status)
        #expect(AccountRefusals.refusal(error, at: stage, AccountRefusals.Rules()).response.status == .forbidden)
    }
}
