import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct AccountCall: Sendable {
    enum Method: String, Sendable { case get = "GET", post = "POST", patch = "PATCH", delete = "DELETE" }

    var path: String
    var method = Method.post
    /// The sessions that the call is for.
    var kind = StoredSession.Kind.cognito
    var body: [String: JSONValue]?
    var bearer: Secret?
    /// How often it is sent again if the network fails.
    var repeats = 0
    /// Whether it can be sent again after the gateway may have carried it out.
    var isRepeatable = true
}

/// A response without a body that matters: 204 has none.
struct Done: Decodable { init(from _: any Decoder) {} }

extension Gatehouse {
    /// More than any response of an account call has.
    private static let longestResponse = 4 << 20

    /// Sends a call and decodes its response.
    func send<Response: Decodable>(_ call: AccountCall) async throws -> Response {
        let (data, response) = try await exchange(call)
        return try decoded(data, response)
    }

    /// Decodes a successful response.
    func decoded<Response: Decodable>(_ data: Data, _ response: HTTPURLResponse) throws -> Response {
        let isDone = response.statusCode == 204 && Response.self == Done.self
        do {
            return try JSONDecoder().decode(Response.self, from: isDone ? Data("{}".utf8) : data)
        } catch {
            throw GatehouseError.unexpectedResponse(status: response.statusCode)
        }
    }

    /// Sends a call. The response is one of 2xx.
    func exchange(_ call: AccountCall) async throws -> (Data, HTTPURLResponse) {
        let request = try request(for: call)
        var sent = 0
        while true {
            sent += 1
            do {
                let (response, body) = try await transport.send(request, uploading: nil)
                let data = try await body.collected(upTo: Self.longestResponse)
                noteTime(of: response)
                guard (200..<300).contains(response.statusCode) else { throw refusal(response, data) }
                return (data, response)
            } catch let error as URLError {
                try Task.checkCancellation()
                let again = call.isRepeatable || error.isBeforeSending
                guard again, sent <= call.repeats else { throw GatehouseError.network(error) }
                try await clock.pause(seconds: 1)
            }
        }
    }

    private func request(for call: AccountCall) throws -> URLRequest {
        let prefix = call.kind == .cognito ? configuration.accountPath : configuration.sessionPath
        var request = request(prefix + "/" + call.path)
        try checkOrigin(request.url)
        request.httpMethod = call.method.rawValue
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let body = call.body {
            request.httpBody = try JSONEncoder().encode(JSONValue.object(body))
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        return call.bearer?.signing(request) ?? request
    }

    private func refusal(_ response: HTTPURLResponse, _ data: Data) -> GatehouseError {
        guard var error = try? JSONDecoder().decode(GatewayError.self, from: data), error.status == response.statusCode
        else { return .unexpectedResponse(status: response.statusCode) }
        error.retryAfter = response.retryAfter
        return GatehouseError(error, now: clock.now)
    }

    /// Corrects the wall clock by the gateway's.
    func noteTime(of response: HTTPURLResponse) {
        guard let date = response.date else { return }
        clockOffset = date.timeIntervalSince(clock.now)
    }

    /// Sends a call of the signed-in user. A token that the gateway refuses is refreshed once.
    func authorized<Response: Decodable>(
        _ method: AccountCall.Method, _ path: String, body: [String: JSONValue]? = nil
    ) async throws -> Response {
        let session = try await usableSession()
        var call = AccountCall(
            path: path, method: method, kind: session.kind, body: body, bearer: session.accessToken)
        let response: Response
        do {
            response = try await send(call)
        } catch GatehouseError.wrongCredentials {
            // Account calls answer 401 for nothing but the token.
            guard let newer = try await renewed(session) else { throw GatehouseError.unexpectedResponse(status: 401) }
            call.bearer = newer.accessToken
            response = try await send(call)
        }
        // A response that comes after a sign-out, or another user's sign-in, is nobody's.
        try checkGeneration(session)
        return response
    }

    /// As ``validSession(refusing:)``, once the user has proven to be present where the app asks for that.
    func usableSession() async throws -> StoredSession {
        _ = try await currentSession()
        try await presence?.confirm()
        return try await validSession()
    }
}

extension URLError {
    /// Whether no byte of the request can have reached the gateway.
    var isBeforeSending: Bool {
        [
            .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .secureConnectionFailed,
            .internationalRoamingOff, .dataNotAllowed, .callIsActive,
        ].contains(code)
    }
}
