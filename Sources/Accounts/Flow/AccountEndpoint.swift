package import Pipeline

/// An endpoint of the account API, defined in its own file. A value is one call of it, with the body parsed and the
/// client's sealed values unsealed.
package protocol AccountEndpoint<Service>: Sendable {
    associatedtype Service: Sendable

    static var operation: AccountOperation { get }

    /// Parses a request, and adds to `call` the account it is about.
    ///
    /// - Throws: 400, 413 or 422 for the body; 401 for a value that cannot be unsealed. No other system has been called
    ///   by then.
    init(_ request: AccountRequest, _ service: Service, _ call: inout AccountCall) throws(Refusal)

    /// Carries out the call once it is admitted.
    func perform(
        _ service: Service, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer
}

/// Endpoints by their operations.
package typealias AccountEndpoints<Service: Sendable> = [AccountOperation: any AccountEndpoint<Service>.Type]

extension AccountFlow {
    /// Handles a request with the endpoint of its operation.
    ///
    /// - Parameter poolID: as ``AccountCall/poolID``.
    package func answer<Service>(
        _ request: AccountRequest, among endpoints: AccountEndpoints<Service>, of service: Service,
        poolID: String
    ) async throws(Refusal) -> AccountAnswer {
        guard let endpoint = endpoints[request.operation] else { throw .notFound() }
        return try await answer(request, by: endpoint, of: service, poolID: poolID)
    }

    private func answer<Endpoint: AccountEndpoint>(
        _ request: AccountRequest, by endpoint: Endpoint.Type, of service: Endpoint.Service, poolID: String
    ) async throws(Refusal) -> AccountAnswer {
        try await run(AccountCall(request, poolID: poolID)) { call throws(Refusal) in
            try Endpoint(request, service, &call)
        } perform: { call, admission throws(Refusal) in
            try await call.perform(service, request, &admission)
        }
    }
}
