extension Rehearsal {
    /// `body`'s answer with the trouble that is on order for this call.
    ///
    /// - Parameter refusal: The answer to an error on order, with its status where one is ordered.
    func answer(
        _ operation: String, refusal: (PoolError, Int?) -> LocalPoolResponse,
        otherwise body: () async -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        guard let fault = fault(for: operation) else { return await body() }
        if fault.delay > 0 {
            // A cancelled wait is a pool that stops: the answer doesn't matter any more.
            try? await Task.sleep(for: .milliseconds(fault.delay))
        }
        if fault.drop == .before {
            return LocalPoolResponse(status: 0, contentType: "", body: [], delivery: .none)
        }
        var response: LocalPoolResponse
        if let error = fault.error {
            record(Call(operation: operation, error: error.type))
            response = refusal(error, fault.status)
        } else {
            response = await body()
        }
        switch fault.drop {
        case .after: response.delivery = .none
        case .midAnswer: response.delivery = .half
        default: break
        }
        return response
    }
}
