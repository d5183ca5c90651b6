internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let removeTOTP = AccountOperation(
        "remove-totp", .delete, "mfa/totp", bearer: .required, budget: .account, effect: .secondFactorsChanged)
}

/// `DELETE mfa/totp`: disables the authenticator app as a second factor.
struct RemoveTOTPEndpoint: AccountEndpoint {
    static let operation = AccountOperation.removeTOTP

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        try await accounts.setTOTP(isEnabled: false, caller, request)
        return .done(subject: caller.subject)
    }
}
