internal import Encoding
internal import Logging

/// Apple's endpoints below `/auth/`.
struct AppleRouter: Sendable {
    let apple: LocalApple
    let rehearsal: Rehearsal

    /// Returns nil if the path does not exist.
    func answer(_ request: LocalPoolRequest) async -> LocalPoolResponse? {
        switch (request.method, request.path) {
        case ("GET", "/auth/keys"):
            await rehearsed("AppleKeys") { keySet }
        case ("POST", "/auth/token"):
            await carryOut("AppleToken", request) { .json(.object(try await apple.tokens($0))) }
        case ("POST", "/auth/revoke"):
            await carryOut("AppleRevoke", request) { form in
                try await apple.revoke(form)
                return LocalPoolResponse(status: 200, contentType: "application/json", body: [])
            }
        default:
            nil
        }
    }

    private var keySet: LocalPoolResponse {
        var response = LocalPoolResponse.json(.object(apple.keys.keySet))
        response.headers = [.init(name: "cache-control", value: "no-store")]
        return response
    }

    private func carryOut(
        _ operation: String, _ request: LocalPoolRequest, _ body: (FormFields) async throws -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        await rehearsed(operation) {
            var call = Rehearsal.Call(operation: operation)
            let response: LocalPoolResponse
            do {
                guard let form = FormFields(request) else { throw AppleError.invalidRequest }
                response = try await body(form)
            } catch let error as AppleError {
                call.error = error.error
                response = Self.refusal(error)
            } catch {
                apple.logger.error("a call failed", metadata: ["operation": "\(operation)", "error": "\(error)"])
                call.error = "server_error"
                response = Self.refusal(AppleError(error: "server_error"), status: 500)
            }
            rehearsal.record(call)
            return response
        }
    }

    private func rehearsed(
        _ operation: String, _ body: () async -> LocalPoolResponse
    ) async -> LocalPoolResponse {
        await rehearsal.answer(operation) { error, status in
            Self.refusal(AppleError(error: error.type, description: error.message), status: status ?? 400)
        } otherwise: {
            await body()
        }
    }

    /// An error response in Apple's format: OAuth's (RFC 6749, 5.2), with status 400 also for an invalid client.
    private static func refusal(_ error: AppleError, status: Int = 400) -> LocalPoolResponse {
        var body: JSONObject = ["error": .string(error.error)]
        if let description = error.description { body["error_description"] = .string(description) }
        return .json(.object(body), status: status)
    }
}
