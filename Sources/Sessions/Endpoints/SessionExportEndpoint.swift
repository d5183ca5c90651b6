internal import Accounts
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    static let sessionExport = AccountOperation(
        "session-export", .get, "me/export", bearer: .required, budget: .account, effect: .userExported,
        metricsName: "export")
}

/// `GET me/export`: all data stored about the user.
struct SessionExportEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionExport

    private let caller: SessionCaller

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        caller = try SessionCaller(try endpoints.verified(request))
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let sessions = try endpoints.ownSessions()
        let known = try await sessions.withRecords(request.requestID) {
            (try await sessions.users.user(caller.userID), try await sessions.records.sessions(of: caller.userID))
        }
        guard let user = known.0 else { throw .tokenInvalid(reason: .account(.sessionEnded)) }
        var export: JSONObject = [
            "success": true, "exported_at": .string(Timestamp.text(sessions.now())), "user": .object(user.exported),
            "sessions": .array(known.1.map { .object($0.exported) }),
        ]
        for companion in endpoints.companions {
            let stored = try await sessions.withRecords(request.requestID) { try await companion.export(of: user) }
            for (name, value) in stored { export[name] = value }
        }
        return AccountAnswer(.ok, export, subject: user.id)
    }
}
