internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// `POST me/email` and `POST me/phone`: sends a code to the new address. Another user's address gets the same response
/// and no code, so that only its owner can learn that it is taken.
struct ChangeContactEndpoint<Attribute: ContactAttribute>: AccountEndpoint {
    static var operation: AccountOperation { Attribute.change }

    private let address: String
    private let password: Secret?
    private let metadata: JSON?
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        address = Attribute.read(&fields)
        password = fields.proof(accounts.settings.contactChange)
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        // Checked before the password.
        caller = try accounts.callerOfOwnAccount(request)
        if password != nil { call.guess = PasswordGuess(by: caller.identity) }
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        try await accounts.prove(caller, with: password, request)
        let user = try await accounts.user(caller, request)
        guard !Attribute.isProven(address, of: user) else {
            throw Refusal(
                .invalidParameter, fields: [ExactText(Attribute.attribute): "is verified already"],
                reason: .account(.invalidFields))
        }
        let delivery = Attribute.delivery(to: address)
        var change = BegunContactChanges.Change(delivery: delivery, isRefused: false)
        var answer = AccountAnswer(.accepted, ["delivery": delivery.json], subject: caller.subject)
        do {
            try await begin(accounts)
        } catch {
            guard error.kind == .usernameExists else { throw accounts.refusal(of: error, at: .bearer, request) }
            change.isRefused = true
            answer.outcome = .refused(.usernameExists, reason: .cognito(error.kind))
        }
        accounts.begunContactChanges.note(change, of: Attribute.attribute, caller.subject)
        return answer
    }

    /// Begins the change. If the pool sends no code for it, or none for an address that is already the user's, another
    /// call requests one.
    private func begin(_ accounts: CognitoAccounts) async throws(CognitoError) {
        var input = caller.input
        input["UserAttributes"] = [UserAttribute(name: Attribute.attribute, value: address).json]
        input["ClientMetadata"] = metadata
        let output = try await accounts.client.call(.updateUserAttributes, input)
        let sent = output["CodeDeliveryDetailsList"]?.arrayValue ?? []
        guard !sent.contains(where: { $0["AttributeName"] == .string(Attribute.attribute) }) else { return }
        _ = try await accounts.sendCode(for: Attribute.self, caller, metadata)
    }
}

/// `POST me/email/resend` and `POST me/phone/resend`: GetUserAttributeVerificationCode, which sends another code for a
/// change in progress, or for an unverified address.
struct ResendContactCodeEndpoint<Attribute: ContactAttribute>: AccountEndpoint {
    static var operation: AccountOperation { Attribute.resend }

    private let metadata: JSON?
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = request.body.isEmpty ? RequestFields([:]) : try request.fields()
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let begun = accounts.begunContactChanges.change(of: Attribute.attribute, caller.subject)
        if let begun, begun.isRefused {
            // There is no code, and sending one to the old address would reveal that. GetUser checks the token as the
            // call for a code would.
            _ = try await accounts.user(caller, request)
            return AccountAnswer(.accepted, ["delivery": begun.delivery.json], subject: caller.subject)
        }
        let output: JSONObject
        do {
            output = try await accounts.sendCode(for: Attribute.self, caller, metadata)
        } catch {
            throw accounts.refusal(of: error, at: .bearer, request)
        }
        let delivery = begun?.delivery ?? CodeDelivery(output, account: "")
        return AccountAnswer(.accepted, ["delivery": delivery.json], subject: caller.subject)
    }
}

/// `POST me/email/verify` and `POST me/phone/verify`: VerifyUserAttribute; returns the updated user.
struct VerifyContactEndpoint<Attribute: ContactAttribute>: AccountEndpoint {
    static var operation: AccountOperation { Attribute.verify }

    private let code: Secret
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        code = Secret(fields.requiredText("code", atMost: 128, .code))
        try fields.check()
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var input = caller.input
        input["AttributeName"] = .string(Attribute.attribute)
        input["Code"] = .string(code.exposeText())
        _ = try await accounts.call(.verifyUserAttribute, input, for: request, at: .contactCode)
        accounts.begunContactChanges.remove(Attribute.attribute, caller.subject)
        return await accounts.answer(afterChangeBy: caller, request) { () async throws(Refusal) in
            accounts.answer(showing: try await accounts.user(caller, request))
        }
    }
}

extension CognitoAccounts {
    fileprivate func sendCode<Attribute: ContactAttribute>(
        for attribute: Attribute.Type, _ caller: Caller, _ metadata: JSON?
    ) async throws(CognitoError) -> JSONObject {
        var input = caller.input
        input["AttributeName"] = .string(attribute.attribute)
        input["ClientMetadata"] = metadata
        return try await client.call(.getUserAttributeVerificationCode, input)
    }
}
