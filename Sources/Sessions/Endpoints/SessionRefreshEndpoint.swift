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

/// `POST refresh`: exchanges a token for its successor. Concurrent calls with the same token get the same response.
struct SessionRefreshEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionRefresh

    private let caller: SessionCaller
    /// The id of the calling device, as claimed by it.
    private let deviceID: String?

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        // Older apps send arbitrary bodies here: anything but a JSON object counts as empty.
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
