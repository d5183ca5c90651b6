internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let passkeys = AccountOperation(
        "passkeys", .get, "me/passkeys", bearer: .required, budget: .account)
}

/// `GET me/passkeys`: ListWebAuthnCredentials, all pages.
struct PasskeysEndpoint: AccountEndpoint {
    static let operation = AccountOperation.passkeys

    /// Cognito returns at most 20 at once, and users have at most 20 passkeys.
    private static let maximumPages = 5

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.passkeyCaller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var input = caller.input
        input["MaxResults"] = 20
        var passkeys: [JSON] = []
        for _ in 0..<Self.maximumPages {
            let output = try await accounts.call(.listWebAuthnCredentials, input, for: request, at: .passkey)
            passkeys += (output["Credentials"]?.arrayValue ?? []).compactMap(Self.passkey)
            guard let next = output["NextToken"], next != .null else { break }
            input["NextToken"] = next
        }
        return AccountAnswer(.ok, ["passkeys": .array(passkeys)], subject: caller.subject)
    }

    /// Converts a WebAuthnCredentialDescription to the API's names.
    private static func passkey(_ description: JSON) -> JSON? {
        guard let id = description["CredentialId"] else { return nil }
        return [
            "id": id, "name": description["FriendlyCredentialName"] ?? .null,
            "relying_party_id": description["RelyingPartyId"] ?? .null,
            "attachment": description["AuthenticatorAttachment"] ?? .null,
            "transports": description["AuthenticatorTransports"] ?? .array([]),
            "created_at": createdAt(description["CreatedAt"]),
        ]
    }

    /// Converts seconds since 1970, with or without a fraction.
    private static func createdAt(_ value: JSON?) -> JSON {
        guard let seconds = value?.numberValue?.numericDate, (0...253_402_300_799).contains(seconds) else {
            return .null
        }
        return .string(Timestamp.text(seconds))
    }
}
