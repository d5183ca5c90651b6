internal import Pipeline

/// From a whole request to a whole answer: Cognito's JSON protocol at `POST /`, the key set, and the local extras.
struct LocalPoolRouter: Sendable {
    let pool: UserPool
    var rehearsal = Rehearsal()

    static let operationPrefix = "AWSCognitoIdentityProviderService."

    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        switch (request.method, request.path) {
        case ("POST", "/"):
            await answerOperation(request)
        case ("GET", "/\(pool.configuration.poolID)/.well-known/jwks.json"):
            await rehearsed("JWKS") { keySet }
        case ("GET", "/_local/health"):
            .json(["status": "ok"])
        case ("GET", "/_local/inbox"):
            await answerInbox(request)
        case (_, let path) where path.hasPrefix("/_local/"):
            await LocalPoolControl(pool: pool, rehearsal: rehearsal).answer(request) ?? nothing
        default:
            nothing
        }
    }

    private func answerOperation(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        guard let target = request.operationTarget, target.hasPrefix(Self.operationPrefix) else {
            return refusal(.unknownOperation)
        }
        let operation = String(target.dropFirst(Self.operationPrefix.count))
        return await rehearsed(operation) {
            var call = Rehearsal.Call(operation: operation)
            let response: LocalPoolResponse
            do throws(PoolError) {
                response = try await carryOut(operation, request, &call)
            } catch {
                call.error = error.type
                response = refusal(error)
            }
            rehearsal.record(call)
            return response
        }
    }

    private func carryOut(
        _ operation: String, _ request: LocalPoolRequest, _ call: inout Rehearsal.Call
    ) async throws(PoolError) -> LocalPoolResponse {
        guard let body = try? JSON.parse(request.body).objectValue else { throw .serialization }
        call.address = body["UserContextData"]?["IpAddress"]?.stringValue
        var caller = UserPool.Caller.anyone
        if UserPool.isForAdministrator(operation) {
            try RequestSignature(region: pool.configuration.region).check(
                request, pool.configuration.administrator, now: pool.clock.real)
            caller = .administrator
        }
        let result = try await pool.answer(operation, body, by: caller)
        return LocalPoolResponse(
            status: 200, contentType: LocalPoolResponse.cognitoType,
            headers: [.init(name: "x-amzn-requestid", value: pool.uuid())], body: result.encoded())
    }

    /// `body`'s answer with the trouble that is on order for this call.
    private func rehearsed(
        _ operation: String, _ body: () async -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        guard let fault = rehearsal.fault(for: operation) else { return await body() }
        if fault.delay > 0 {
            // A cancelled wait is a pool that stops: the answer doesn't matter any more.
            try? await Task.sleep(for: .milliseconds(fault.delay))
        }
        if fault.drop == .before {
            return LocalPoolResponse(status: 0, contentType: "", body: [], delivery: .none)
        }
        var response: LocalPoolResponse
        if let error = fault.error {
            rehearsal.record(Rehearsal.Call(operation: operation, error: error.type))
            response = LocalPoolResponse.refusal(error, status: fault.status, requestID: pool.uuid())
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

    private var keySet: LocalPoolResponse {
        LocalPoolResponse(
            status: 200, contentType: "application/json",
            headers: [.init(name: "cache-control", value: "public, max-age=86400")], body: pool.keySet.encoded())
    }

    private func answerInbox(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        guard let address = request.query("email") ?? request.query("phone") else {
            return refusal(.invalidParameter("The query needs email=<address> or phone=<number>."))
        }
        guard let messages = try? await pool.inbox(of: address) else { return refusal(.internalError) }
        return .json(messages)
    }

    private var nothing: LocalPoolResponse {
        LocalPoolResponse.refusal(
            PoolError(type: "ResourceNotFoundException", message: "There is nothing here."), status: 404,
            requestID: pool.uuid())
    }

    private func refusal(_ error: PoolError) -> LocalPoolResponse {
        LocalPoolResponse.refusal(error, requestID: pool.uuid())
    }
}
