internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let sessions = AccountOperation("sessions", .get, "me/sessions", bearer: .required, budget: .account)
}

/// `GET me/sessions`: the user's open sessions.
struct SessionListEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessions

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.callerOfOwnAccount(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let open = try await accounts.openSessions(of: caller, request)
        let sessions = open.map { OwnSession($0, isCurrent: caller.isOf($0)) }
        return AccountAnswer(.ok, ["sessions": OwnSession.list(sessions)], subject: caller.subject)
    }
}
