extension Rehearsal {
    /// Returns the response of `body`, with the fault that is injected for this call.
    ///
    /// - Parameter refusal: creates the response to an injected error, with its status if one is given.
    func answer(
        _ operation: String, refusal: (PoolError, Int?) -> LocalPoolResponse,
        otherwise body: () async -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        guard let fault = fault(for: operation) else { return await body() }
        if fault.delay > 0 {
            // The wait is cancelled only if the pool stops, when the response no longer matters.
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
