internal import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let sessionRefresh = AccountOperation(
        "session-refresh", .post, "refresh", bearer: .judged, budget: .refresh, effect: .refreshed,
        metricsName: "refresh")
}

/// `POST refresh`: exchanges a token for its successor. Everyone who comes with one token at a time gets one answer.
struct SessionRefreshEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionRefresh

    private let caller: SessionCaller

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        do throws(Refusal) {
            caller = try endpoints.ownSessions().judge(request.bearer)
        } catch {
            endpoints.note(error, request, in: &call)
            throw error
        }
        call.subject = caller.userID
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let token: Secret
        do throws(Refusal) {
            token = try await endpoints.ownSessions().refresh(caller, requestID: request.requestID)
        } catch {
            endpoints.note(error, request, in: &admission.call)
            throw error
        }
        return AccountAnswer(
            .ok, ["success": true, "token": .string(token.exposeText())], subject: caller.userID)
    }
}
