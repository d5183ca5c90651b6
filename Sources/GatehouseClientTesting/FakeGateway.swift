public import Foundation
public import GatehouseClient

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// A gateway in this process: a transport that answers as the real one does, for tests and previews.
///
/// It has the account calls and those of Sign in with Apple at their default paths, and `GET /echo`, a route that asks
/// for an access token. The same contract tests pass against it and against a real gateway.
public final class FakeGateway: Transport, @unchecked Sendable {
    // Unchecked: `state` is only used under `lock`.
    private let lock = NSLock()
    private var state = FakeState()
    /// The gateway's clock.
    public let clock: any ClientClock
    /// Seconds that access tokens of the pool are good for.
    public let accessTokenLifetime: TimeInterval
    /// Seconds that tokens of Sign in with Apple are good for.
    public let sessionTokenLifetime: TimeInterval
    /// Seconds after which a session ends, however often it is refreshed.
    public let sessionLifetime: TimeInterval

    /// The URL to configure the client with.
    public static let url = URL(string: "https://gateway.example") ?? URL(fileURLWithPath: "/")

    public init(
        clock: any ClientClock = SystemClock(), accessTokenLifetime: TimeInterval = 3600,
        sessionTokenLifetime: TimeInterval = 30 * 24 * 3600, sessionLifetime: TimeInterval = 365 * 24 * 3600
    ) {
        self.clock = clock
        self.accessTokenLifetime = accessTokenLifetime
        self.sessionTokenLifetime = sessionTokenLifetime
        self.sessionLifetime = sessionLifetime
    }

    func locked<Value>(_ body: (inout FakeState) throws -> Value) rethrows -> Value {
        try lock.withLock { try body(&state) }
    }

    /// Adds a user to the pool.
    ///
    /// - Returns: the user's id.
    @discardableResult
    public func addUser(
        email: String, password: String, name: String? = nil, groups: [String] = [], isConfirmed: Bool = true
    ) -> String {
        locked { state in
            let id = Self.identifier(state.next())
            state.users[id] = FakeUser(
                id: id, email: email, password: password, name: name, groups: groups, isConfirmed: isConfirmed)
            return id
        }
    }

    /// The code of the last message to this address or number; nil if there is none.
    public func code(for address: String) -> String? { locked { $0.messages[address] } }

    /// How many requests the gateway has seen at a path, such as `/api/v1/auth/refresh`.
    public func requests(_ path: String) -> Int { locked { $0.requests[path] ?? 0 } }

    /// Lets something go wrong with the next request that has no other fault.
    ///
    /// - Parameter path: the end of the request's path; nil for any.
    public func inject(_ fault: Fault, at path: String? = nil) { locked { $0.faults.append((path, fault)) } }

    /// Ends all sessions of a user, as an operator does.
    public func endSessions(of email: String) {
        locked { state in
            for user in state.users.values where user.email == email { state.end(userID: user.id) }
        }
    }

    /// Makes the access tokens of all sessions invalid, long before they expire. The sessions go on.
    public func refuseAccessTokens() { locked { $0.accessTokens = [:] } }

    /// The ids of the sessions that go on.
    public var openSessions: [String] { locked { $0.sessions.values.filter { !$0.isEnded }.map(\.id).sorted() } }

    public func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        try Task.checkCancellation()
        let path = request.url?.path ?? "/"
        var fault = locked { state -> Fault? in
            let found = state.faults.firstIndex { $0.path == nil || path.hasSuffix($0.path ?? "") }
            return found.map { state.faults.remove(at: $0).fault }
        }
        if case .heldBefore(let hold, let next)? = fault {
            await hold.wait()
            fault = next
        }
        switch fault {
        case .noConnection: throw URLError(.cannotConnectToHost)
        case .response(let status, let body, let headers):
            return try response(request, status, headers, Data(body.utf8))
        default: break
        }
        let reply = locked { [fault] state in self.reply(to: request, file, &state, fault) }
        if case .heldAfter(let hold)? = fault { await hold.wait() }
        let body = try reply.body.map { try JSONEncoder().encode($0) } ?? Data()
        let (head, whole) = try response(request, reply.status, reply.headers, body)
        switch fault {
        case .lostResponse: throw URLError(.networkConnectionLost)
        case .cutBody: return (head, ResponseBody(body.prefix(body.count / 2)))
        case .brokenBody:
            let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            continuation.yield(body.prefix(body.count / 2))
            continuation.finish(throwing: URLError(.networkConnectionLost))
            return (head, ResponseBody(stream))
        default: return (head, whole)
        }
    }

    private func response(
        _ request: URLRequest, _ status: Int, _ headers: [String: String], _ body: Data
    ) throws -> (HTTPURLResponse, ResponseBody) {
        guard
            let url = request.url,
            let head = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        else { throw URLError(.badURL) }
        return (head, ResponseBody(body))
    }

    private func reply(to request: URLRequest, _ file: URL?, _ state: inout FakeState, _ fault: Fault?) -> FakeReply {
        let path = request.url?.path ?? "/"
        state.requests[path, default: 0] += 1
        let requestID = Self.identifier(state.next())
        var reply: FakeReply
        do {
            if case .refusal(let error, let challenge)? = fault {
                var refusal = FakeRefusal(error.status, error.name, error.message, challenge: challenge)
                refusal.error = error
                throw refusal
            }
            reply = try route(FakeRequest(request, path, file), &state)
        } catch let refusal as FakeRefusal {
            reply = refusal.reply(requestID: requestID, deniesSuccess: path.hasPrefix("/api/auth/"))
        } catch {
            reply = FakeRefusal.badJSON.reply(requestID: requestID, deniesSuccess: path.hasPrefix("/api/auth/"))
        }
        reply.headers["Date"] = Self.httpDate(clock.now)
        reply.headers["X-Request-Id"] = requestID
        reply.headers["Cache-Control"] = "no-store"
        if reply.body != nil { reply.headers["Content-Type"] = "application/json" }
        return reply
    }
}

extension FakeRequest {
    /// - Throws: ``FakeRefusal`` for a body that is no JSON object.
    init(_ request: URLRequest, _ path: String, _ file: URL?) throws {
        method = request.httpMethod ?? "GET"
        self.path = path
        let authorization = request.value(forHTTPHeaderField: "Authorization")
        bearer = authorization.flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
        body = [:]
        guard path.hasPrefix("/api/"), let data = request.httpBody, !data.isEmpty else { return }
        guard let members = try? JSONDecoder().decode([String: JSONValue].self, from: data) else {
            throw FakeRefusal.badJSON
        }
        body = members.filter { $0.value != .null }
        // Null is a value where the gateway tells it from no member.
        if path.hasSuffix("/me") { body = members }
    }
}
