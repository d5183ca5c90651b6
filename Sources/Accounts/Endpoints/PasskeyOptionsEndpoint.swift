internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let passkeyOptions = AccountOperation(
        "passkey-options", .post, "me/passkeys/options", bearer: .required, budget: .account)
}

/// `POST me/passkeys/options`: StartWebAuthnRegistration, which returns the options for creating a passkey.
struct PasskeyOptionsEndpoint: AccountEndpoint {
    static let operation = AccountOperation.passkeyOptions

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.passkeyCaller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let output = try await accounts.call(.startWebAuthnRegistration, caller.input, for: request, at: .passkey)
        guard let options = output["CredentialCreationOptions"]?.objectValue else {
            throw accounts.unusable("UnreadableOptions", request)
        }
        return AccountAnswer(.ok, ["options": .object(options)], subject: caller.subject)
    }
}

extension CognitoAccounts {
    /// Returns the caller.
    ///
    /// - Throws: 404 if the settings do not offer passkeys.
    func passkeyCaller(_ request: AccountRequest) throws(Refusal) -> Caller {
        guard settings.choice.factors.contains(.passkey) else { throw .notFound() }
        return try caller(request)
    }
}
