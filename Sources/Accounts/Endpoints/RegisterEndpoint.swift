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

    private let email: String
    private let password: Secret
    private let attributes: [UserAttribute]

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        email = fields.requiredText("email", atMost: 128, .email)
        password = Secret(fields.requiredText("password", atMost: 256, .password))
        attributes = fields.attributes(accounts.settings.writableAttributes)
        let device = fields.device()
        try fields.check()
        (call.account, call.device) = (email, device)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var input = accounts.app.input(username: email)
        input["Password"] = .string(password.exposeText())
        let attributes = [UserAttribute(name: "email", value: email)] + self.attributes
        input["UserAttributes"] = .array(attributes.map(\.json))
        input["UserContextData"] = accounts.userContext(request)
        let output: JSONObject
        do {
            output = try await accounts.client.call(.signUp, input)
        } catch {
            guard error.kind == .usernameExists, accounts.settings.concealsExistingUsers else {
                throw accounts.refusal(of: error, at: .registration, request)
            }
            var answer = concealedRegistration(subject: nil)
            answer.outcome = .refused(.usernameExists, reason: .cognito(error.kind))
            return answer
        }
        guard let id = output["UserSub"]?.stringValue else { throw accounts.unusable("UnexpectedAnswer", request) }
        let isConfirmed = output["UserConfirmed"]?.boolValue ?? false
        if accounts.settings.concealsExistingUsers, !isConfirmed { return concealedRegistration(subject: id) }
        // A user whom the pool itself confirms gets no code.
        let hasDelivery = output["CodeDeliveryDetails"] != nil || !isConfirmed
        return AccountAnswer(
            .created,
            [
                "user_id": .string(id), "confirmed": .bool(isConfirmed),
                "delivery": hasDelivery ? CodeDelivery(output, account: email).json : .null,
            ], subject: id)
    }

    /// The answer for an address that is free and for one that is taken. It has nothing of Cognito's in it: neither the
    /// new user's id, which a made-up one would not be like, nor where the code went.
    private func concealedRegistration(subject: String?) -> AccountAnswer {
        AccountAnswer(
            .created,
            ["user_id": .null, "confirmed": false, "delivery": CodeDelivery([:], account: email).json],
            subject: subject)
    }
}
