import Foundation
import GatehouseClient
import GatehouseClientTesting

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A transport on which a test lets things go wrong, before a gateway of either kind.
final class FaultyTransport: Transport, @unchecked Sendable {
    // Unchecked: `faults` and `counts` are only used under `lock`.
    private let lock = NSLock()
    private let inner: any Transport
    private var faults: [(path: String, fault: Fault)] = []
    private var counts: [String: Int] = [:]

    init(_ inner: any Transport) { self.inner = inner }

    /// Lets something go wrong with the next request to a path, for each call of this.
    func inject(_ fault: Fault, at path: String = refreshPath) { lock.withLock { faults.append((path, fault)) } }

    /// How many requests to this path the gateway was sent.
    func requests(_ path: String = refreshPath) -> Int { lock.withLock { counts[path] ?? 0 } }

    private func nextFault(_ path: String) -> Fault? {
        lock.withLock { faults.firstIndex { $0.path == path }.map { faults.remove(at: $0).fault } }
    }

    private func count(_ path: String) { lock.withLock { counts[path, default: 0] += 1 } }

    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        let path = request.url?.path ?? "/"
        var fault = nextFault(path)
        if case .heldBefore(let hold, let next)? = fault {
            await hold.wait()
            fault = next
        }
        switch fault {
        case .noConnection, .response, .refusal:
            // The gateway is not asked: a fake one has these.
            let other = FakeGateway()
            if let fault { other.inject(fault) }
            return try await other.send(request, uploading: file)
        default: count(path)
        }
        let (head, whole) = try await inner.data(request, uploading: file)
        switch fault {
        case .heldAfter(let hold): await hold.wait()
        case .lostResponse: throw URLError(.networkConnectionLost)
        case .cutBody: return (head, ResponseBody(whole.prefix(whole.count / 2)))
        case .brokenBody:
            let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            continuation.yield(whole.prefix(whole.count / 2))
            continuation.finish(throwing: URLError(.networkConnectionLost))
            return (head, ResponseBody(stream))
        default: break
        }
        return (head, ResponseBody(whole))
    }
}

/// A gateway of either kind, a device before it, and a user.
struct Stage {
    let backend: any Backend
    let transport: FaultyTransport
    /// The device's, which stands still unless the test moves it.
    let clock: ManualClock
    let store = MemoryStore()
    let user: (email: String, password: String)

    init(_ backend: any Backend, _ name: String) async throws {
        self.backend = backend
        transport = FaultyTransport(backend.transport)
        clock = ManualClock(now: backend.clock.now)
        user = try await backend.newUser(name)
    }

    /// A client as a start of the app makes it.
    func client(_ store: (any SessionStore)? = nil) -> Gatehouse {
        Gatehouse(Configuration(url: backend.url), store: store ?? self.store, transport: transport, clock: clock)
    }

    /// A client at which the user has signed in.
    ///
    /// - Parameter store: another device's; nil for the stage's own.
    func signedIn(_ kind: SessionKind = .password, _ store: (any SessionStore)? = nil) async throws -> Gatehouse {
        let client = client(store)
        switch kind {
        case .password: try await client.signIn(.email(user.email), password: user.password)
        case .apple:
            let nonce = client.makeAppleNonce()
            let credential = try await backend.appleCredential(email: user.email, hashedNonce: nonce.hashed)
            try await client.signIn(with: credential, nonce: nonce)
        }
        return client
    }
}

/// The kinds of session that an app may have.
enum SessionKind: CaseIterable, Sendable {
    case password, apple

    var refreshPath: String { self == .password ? GatehouseClientTests.refreshPath : "/api/auth/refresh" }
    /// Of the call that ``Gatehouse/use(_:)`` makes.
    var usePath: String { self == .password ? mePath : "/api/auth/validate" }
    /// More than a token lives.
    var lifetime: TimeInterval { self == .password ? 8 * 3600 : 40 * 86_400 }
}

/// Each of these with each kind of session.
func pairs<Value>(_ values: [Value]) -> [(Value, SessionKind)] {
    values.flatMap { value in SessionKind.allCases.map { (value, $0) } }
}

let mePath = "/api/v1/auth/me"

extension Gatehouse {
    /// The status of a request for the user, through the requests that apps make.
    func status() async throws -> Int { try await data(mePath).1.statusCode }

    /// Has the gateway take the token of a session, and returns whose it is.
    func use(_ kind: SessionKind) async throws -> String? {
        try await (kind == .password ? me() : validate()).email
    }
}
