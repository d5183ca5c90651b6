internal import Encoding

/// Turns a complete request into a complete response: Cognito's JSON protocol at `POST /`, the key set, Apple's
/// endpoints, and the local control interface.
struct LocalPoolRouter: Sendable {
    let pool: UserPool
    var apple: LocalApple?
    var rehearsal = Rehearsal()

    static let operationPrefix = "AWSCognitoIdentityProviderService."

    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        switch (request.method, request.path) {
        case ("POST", "/"):
            await answerOperation(request)
        case ("GET", "/\(pool.configuration.poolID)/.well-known/jwks.json"):
            await rehearsed("JWKS") { keySet }
        case (_, let path) where HostedRouter.serves(path, of: pool):
            await HostedRouter(pool: pool, rehearsal: rehearsal).answer(request)
        case ("GET", "/_local/health"):
            .json(["status": "ok"])
        case ("GET", "/_local/inbox"):
            await answerInbox(request)
        case (_, let path) where path.hasPrefix("/_local/"):
            await LocalPoolControl(pool: pool, apple: apple, rehearsal: rehearsal).answer(request) ?? nothing
        case (_, let path) where path.hasPrefix("/auth/"):
            await answerApple(request) ?? nothing
        default:
            nothing
        }
    }

    private func answerOperation(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        // AWS services accept an operation only with the protocol's content type.
        let type = request.header("content-type")?.prefix { $0 != ";" }.lowercased()
        guard type == LocalPoolResponse.cognitoType, let target = request.operationTarget,
            target.hasPrefix(Self.operationPrefix)
        else {
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

    private func answerApple(_ request: LocalPoolRequest) async -> LocalPoolResponse? {
        guard let apple else { return nil }
        return await AppleRouter(apple: apple, rehearsal: rehearsal).answer(request)
    }

    private func rehearsed(
        _ operation: String, _ body: () async -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        await rehearsal.answer(operation) { error, status in
            LocalPoolResponse.refusal(error, status: status, requestID: pool.uuid())
        } otherwise: {
            await body()
        }
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
