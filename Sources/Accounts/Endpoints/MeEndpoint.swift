internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let me = AccountOperation("me", .get, bearer: .required, budget: .account)
}

/// `GET me`: calls Cognito, so that revoked tokens and changed attributes take effect at once.
struct MeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.me

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let user = try await accounts.user(caller, request)
        return accounts.answer(showing: user)
    }
}
