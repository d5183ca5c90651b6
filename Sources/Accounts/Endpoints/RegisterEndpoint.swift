internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let register = AccountOperation(
        "register", .post, budget: .messages, effect: .registered, usualErrors: [.invalidPassword, .usernameExists])
}

/// `POST register`: SignUp.
struct RegisterEndpoint: AccountEndpoint {
    static let operation = AccountOperation.register

    private let name: RegisteredName
    private let password: Secret
    private let attributes: [UserAttribute]
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        name = RegisteredName(&fields, accounts.settings)
        password = Secret(fields.requiredText("password", atMost: 256, .password))
        attributes = fields.attributes(accounts.settings.writableAttributes, besides: name.attributes)
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        let device = fields.device()
        try fields.check()
        (call.account, call.device) = (name.account, device)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        for address in addresses { try await accounts.flow.countMessage(to: address, admission.call) }
        let username = name.username?.text ?? Hexadecimal.encode(accounts.random(16))
        var input = accounts.app.input(username: username)
        input["Password"] = .string(password.exposeText())
        input["UserAttributes"] = .array((name.attributes + attributes).map(\.json))
        input["UserContextData"] = accounts.userContext(request)
        input["ClientMetadata"] = metadata
        let output: JSONObject
        do {
            output = try await accounts.client.call(.signUp, input)
        } catch {
            let refusal = accounts.refusal(
                of: error, registering: name, hasAttributes: !attributes.isEmpty, request)
            guard accounts.settings.concealsExistingUsers, error.tellsWhetherRegistered else { throw refusal }
            var answer = concealedRegistration(username, accounts, subject: nil)
            answer.outcome = refusal.outcome
            return answer
        }
        guard let id = output["UserSub"]?.stringValue else { throw accounts.unusable("UnexpectedAnswer", request) }
        let isConfirmed = output["UserConfirmed"]?.boolValue ?? false
        if accounts.settings.concealsExistingUsers, !isConfirmed {
            return concealedRegistration(username, accounts, subject: id)
        }
        // A user whom the pool confirms at once gets no code; neither does any user of a pool that verifies no
        // addresses.
        let hasDelivery = output["CodeDeliveryDetails"] != nil
        let delivery = hasDelivery ? CodeDelivery(output, account: name.address).json : .null
        let body: JSONObject = ["user_id": .string(id), "confirmed": .bool(isConfirmed), "delivery": delivery]
        return AccountAnswer(.created, adding(username, accounts, to: body), subject: id)
    }

    /// The addresses that a code may be sent to, other than the name that the call is counted by.
    private var addresses: [String] {
        (name.attributes + attributes).filter { $0.name.isOne(of: ["email", "phone_number"]) }.map(\.value)
            .filter { !$0.foldedCase.hasSameBytes(as: name.account.foldedCase) }
    }

    /// Returns the same response for a free and a taken address. It has nothing of Cognito's: neither the new user's
    /// ID, which an invented one would not resemble, nor the code's destination.
    private func concealedRegistration(
        _ username: String, _ accounts: CognitoAccounts, subject: String?
    ) -> AccountAnswer {
        let delivery = CodeDelivery([:], account: name.address).json
        let body: JSONObject = ["user_id": .null, "confirmed": false, "delivery": delivery]
        return AccountAnswer(.created, adding(username, accounts, to: body), subject: subject)
    }

    /// Adds the user name if it differs from the name to sign in with.
    private func adding(_ username: String, _ accounts: CognitoAccounts, to body: JSONObject) -> JSONObject {
        var body = body
        if accounts.settings.registrationName != .signInName { body["username"] = .string(username) }
        return body
    }
}

extension CognitoError {
    /// Whether SignUp reports the error only for taken addresses, or only for free ones.
    fileprivate var tellsWhetherRegistered: Bool {
        switch kind {
        case .usernameExists: true
        // The PreSignUp trigger is the pool's own check, and the user must see its refusal.
        case .rejectedByTrigger: !TriggerRefusal(self).trigger.hasSameBytes(as: "PreSignUp")
        default: isOfMessage
        }
    }
}
