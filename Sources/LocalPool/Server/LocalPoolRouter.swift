internal import Pipeline

/// From a whole request to a whole answer: Cognito's JSON protocol at `POST /`, the key set, and the local extras.
struct LocalPoolRouter: Sendable {
    let pool: UserPool

    static let operationPrefix = "AWSCognitoIdentityProviderService."
    private static let cognitoType = "application/x-amz-json-1.1"

    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        switch (request.method, request.path) {
        case ("POST", "/"):
            await answerOperation(request)
        case ("GET", "/\(pool.configuration.poolID)/.well-known/jwks.json"):
            LocalPoolResponse(
                status: 200, contentType: "application/json",
                headers: [.init(name: "cache-control", value: "public, max-age=86400")], body: pool.keySet.encoded())
        case ("GET", "/_local/health"):
            LocalPoolResponse(status: 200, contentType: "application/json", body: Array(#"{"status":"ok"}"#.utf8))
        case ("GET", "/_local/inbox"):
            await answerInbox(request)
        default:
            refusal(PoolError(type: "ResourceNotFoundException", message: "There is nothing here."), status: 404)
        }
    }

    private func answerOperation(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        do throws(PoolError) {
            guard let target = request.operationTarget, target.hasPrefix(Self.operationPrefix) else {
                throw .unknownOperation
            }
            guard let body = try? JSON.parse(request.body).objectValue else { throw .serialization }
            let result = try await pool.answer(String(target.dropFirst(Self.operationPrefix.count)), body)
            return LocalPoolResponse(
                status: 200, contentType: Self.cognitoType,
                headers: [.init(name: "x-amzn-requestid", value: pool.uuid())], body: result.encoded())
        } catch {
            return refusal(error, status: error.status)
        }
    }

    private func answerInbox(_ request: LocalPoolRequest) async -> LocalPoolResponse {
        guard let email = request.query("email") else {
            return refusal(.invalidParameter("The query needs email=<address>."), status: 400)
        }
        guard let messages = try? await pool.inbox(of: email) else { return refusal(.internalError, status: 500) }
        return LocalPoolResponse(status: 200, contentType: "application/json", body: messages.encoded())
    }

    /// An error in Cognito's shape: `__type` in the body, the same with a colon and the message in headers.
    private func refusal(_ error: PoolError, status: Int) -> LocalPoolResponse {
        var body: JSONObject = ["__type": .string(error.type)]
        var headers = [
            LocalPoolResponse.Header(name: "x-amzn-requestid", value: pool.uuid()),
            LocalPoolResponse.Header(name: "x-amzn-errortype", value: "\(error.type):"),
        ]
        if !error.message.isEmpty {
            body["message"] = .string(error.message)
            headers.append(.init(name: "x-amzn-errormessage", value: Self.headerSafe(error.message)))
        }
        return LocalPoolResponse(status: status, contentType: Self.cognitoType, headers: headers, body: body.encoded())
    }

    /// Some messages echo input, and input may hold anything.
    private static func headerSafe(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { (0x20...0x7E).contains($0.value) ? $0 : "?" }))
    }
}
