internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let updateMe = AccountOperation("update-me", .patch, "me", bearer: .required, budget: .account)
}

/// `PATCH me`: UpdateUserAttributes, then the user as it is now.
struct UpdateMeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.updateMe

    private let attributes: [UserAttribute]
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        attributes = fields.attributes(accounts.settings.writableAttributes)
        // An address counts once it is proven, for which there is no call: better refused than half done.
        fields.refuse("email", "can not be changed here")
        try fields.check()
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        if !attributes.isEmpty {
            var input = caller.input
            input["UserAttributes"] = .array(attributes.map(\.json))
            _ = try await accounts.call(.updateUserAttributes, input, for: request, at: .bearer)
        }
        let user = try await accounts.user(caller, request)
        return AccountAnswer(.ok, user.object, subject: user.id)
    }
}
