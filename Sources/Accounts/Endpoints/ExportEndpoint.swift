internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    package static let export = AccountOperation(
        "export", .get, "me/export", bearer: .required, budget: .account, effect: .userExported)
}

/// `GET me/export`: all data about the user, here and at Cognito.
struct ExportEndpoint: AccountEndpoint {
    static let operation = AccountOperation.export

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let user = try await accounts.user(caller, request)
        let stored = try await accounts.withRecords(request) {
            try await accounts.sessions.records.all(subject: caller.subject, poolID: accounts.settings.poolID)
        }
        let export: JSONObject = [
            "exported_at": .string(Timestamp.text(accounts.now())), "user": .object(user.object),
            "sessions": .array(stored.map { .object($0.exported) }),
            "devices": .array(try await devices(accounts, request)),
        ]
        return AccountAnswer(.ok, export, subject: user.id)
    }

    /// Calls ListDevices for all pages.
    private func devices(_ accounts: CognitoAccounts, _ request: AccountRequest) async throws(Refusal) -> [JSON] {
        var input = caller.input
        input["Limit"] = 60
        var devices: [JSON] = []
        do {
            for _ in 0..<Self.maximumPages {
                let output = try await accounts.client.call(.listDevices, input)
                devices += output["Devices"]?.arrayValue ?? []
                guard let next = output["PaginationToken"], next != .null else { return devices }
                input["PaginationToken"] = next
            }
        } catch {
            guard devices.isEmpty, Self.noDevices.contains(error.kind) else {
                throw accounts.refusal(of: error, at: .bearer, request)
            }
            return []
        }
        // An export must be complete.
        throw accounts.unusable("TooManyDevices", request)
    }

    private static let maximumPages = 50

    /// The errors of pools that track no devices.
    private static let noDevices: Set<CognitoErrorKind> = [
        .invalidParameter, .poolMisconfigured, .unsupportedOperation, .clientUnknown, .deviceUnknown,
    ]
}
