package import Pipeline

/// An endpoint of the account API: everything that the gateway knows of it is in its file. A value is one call of it,
/// its body read and what the client holds for the gateway opened.
package protocol AccountEndpoint<Service>: Sendable {
    associatedtype Service: Sendable

    static var operation: AccountOperation { get }

    /// Reads a request, and notes in `call` whom it is about.
    ///
    /// - Throws: 400, 413 or 422, as the body is; 401 for what does not open. Nobody has been asked by then.
    init(_ request: AccountRequest, _ service: Service, _ call: inout AccountCall) throws(Refusal)

    /// Does what the call asks for, once it is admitted.
    func perform(
        _ service: Service, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer
}

/// Endpoints by their operations.
package typealias AccountEndpoints<Service: Sendable> = [AccountOperation: any AccountEndpoint<Service>.Type]

extension AccountFlow {
    /// Takes a request through the endpoint that its operation names.
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
