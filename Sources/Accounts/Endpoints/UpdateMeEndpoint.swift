internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let updateMe = AccountOperation(
        "update-me", .patch, "me", bearer: .required, budget: .account,
        effect: .userChanged)
}

/// `PATCH me`: UpdateUserAttributes; returns the updated user.
struct UpdateMeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.updateMe

    private let attributes: [UserAttribute]
    private let caller: Caller
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        attributes = fields.attributes(accounts.settings.writableAttributes)
        // A changed address must be verified, and the user must prove their identity before the change.
        fields.refuse("email", "is changed by POST me/email")
        fields.refuse("phone_number", "is changed by POST me/phone, and removed as one of the attributes")
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        if attributes.contains(where: { $0.name.hasSameBytes(as: "phone_number") && !$0.value.isEmpty }) {
            throw Refusal(
                .invalidParameter, fields: ["attributes.phone_number": "is changed by POST me/phone"],
                reason: .account(.invalidFields))
        }
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        guard !attributes.isEmpty else { return accounts.answer(showing: try await accounts.user(caller, request)) }
        var input = caller.input
        input["UserAttributes"] = .array(attributes.map(\.json))
        input["ClientMetadata"] = metadata
        _ = try await accounts.call(.updateUserAttributes, input, for: request, at: .bearer)
        return await accounts.answer(afterChangeBy: caller, request) { () async throws(Refusal) in
            accounts.answer(showing: try await accounts.user(caller, request))
        }
    }
}
