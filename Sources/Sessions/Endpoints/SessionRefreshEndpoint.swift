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
    /// The device that shows the token, as it says itself.
    private let deviceID: String?

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        // Apps from before there was a body send anything here: what is no JSON object says nothing.
        var fields = (try? request.fields()) ?? RequestFields([:])
        let device = fields.device()
        try fields.check()
        (deviceID, call.device) = (device?.deviceID, device)
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
        let successor: SessionSuccessor
        do throws(Refusal) {
            successor = try await endpoints.ownSessions().refresh(
                caller, on: deviceID, requestID: request.requestID)
        } catch {
            endpoints.note(error, request, in: &admission.call)
            throw error
        }
        return AccountAnswer(
            .ok, ["success": true, "token": .string(successor.token.exposeText())], subject: caller.userID,
            outcome: successor.isGivenAgain ? .givenAgain : .succeeded)
    }
}
