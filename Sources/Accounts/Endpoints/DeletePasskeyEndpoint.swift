internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let deletePasskey = AccountOperation(
        "delete-passkey", .delete, "me/passkeys/*", bearer: .required, budget: .account,
        effect: .passkeyDeleted)
}

/// `DELETE me/passkeys/{id}`: DeleteWebAuthnCredential.
struct DeletePasskeyEndpoint: AccountEndpoint {
    static let operation = AccountOperation.deletePasskey

    private let caller: Caller
    private let id: String?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.passkeyCaller(request)
        id = request.segment
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        guard let id, (1...2048).contains(id.utf8.count) else { throw .notFound() }
        var input = caller.input
        input["CredentialId"] = .string(id)
        _ = try await accounts.call(.deleteWebAuthnCredential, input, for: request, at: .passkey)
        return .done(subject: caller.subject)
    }
}
