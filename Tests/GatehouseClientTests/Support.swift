import Foundation
import GatehouseClient
import GatehouseClientTesting

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

let ada = (email: "ada@example.com", password: "Correct-Horse-7-Battery")
let ben = (email: "ben@example.com", password: "Staple-Horse-9-Battery")
let refreshPath = "/api/v1/auth/refresh"

/// A fake gateway with two users, its clock, a store, and clients that share them.
struct Scene {
    let clock = ManualClock()
    let gateway: FakeGateway
    let store: any SessionStore

    init(store: any SessionStore = MemoryStore()) {
        self.store = store
        gateway = FakeGateway(clock: clock)
        gateway.addUser(email: ada.email, password: ada.password, name: "Ada Lovelace")
        gateway.addUser(email: ben.email, password: ben.password, name: "Ben Example")
    }

    /// A client as a start of the app makes it.
    ///
    /// - Parameter clock: the device's; nil for the gateway's own.
    func client(
        store: (any SessionStore)? = nil, transport: (any Transport)? = nil, clock: (any ClientClock)? = nil
    ) -> Gatehouse {
        Gatehouse(
            Configuration(url: FakeGateway.url), store: store ?? self.store, transport: transport ?? gateway,
            clock: clock ?? self.clock)
    }

    /// A client at which Ada has signed in.
    func signedIn() async throws -> Gatehouse {
        let client = client()
        try await client.signIn(.email(ada.email), password: ada.password)
        return client
    }

    var refreshes: Int { gateway.requests(refreshPath) }
}

/// A store that a test locks, or whose writes fail, around another one.
final class FaultyStore: SessionStore, @unchecked Sendable {
    // Unchecked: all is only used under `lock`.
    private let lock = NSLock()
    private let inner = MemoryStore()
    private var readFailure: StoreFailure?
    private var writeFailure: StoreFailure?
    private var refusesDeletion = true
    private var writes = 0
    let signOuts: (any SessionStore)?

    /// - Parameter signOuts: the place for sign-outs that this store does not take.
    init(signOuts: (any SessionStore)? = nil) { self.signOuts = signOuts }

    /// - Parameter deletion: whether a failure to write is one to delete, too.
    func fail(read: StoreFailure? = nil, write: StoreFailure? = nil, deletion: Bool = true) {
        lock.withLock { (readFailure, writeFailure, refusesDeletion) = (read, write, deletion) }
    }

    var data: Data? { inner.read() }
    /// How many writes were asked for, also those that failed.
    var writeCount: Int { lock.withLock { writes } }

    func read() throws -> Data? {
        if let failure = lock.withLock({ readFailure }) { throw failure }
        return inner.read()
    }

    func replace(_ old: Data?, with new: Data?) throws -> Bool {
        let failure = lock.withLock {
            writes += 1
            return new == nil && !refusesDeletion ? nil : writeFailure
        }
        if let failure { throw failure }
        return inner.replace(old, with: new)
    }
}

/// A store that loses all writes: as a process that ends before it writes.
struct LostWrites: SessionStore {
    let inner: any SessionStore

    func read() async throws -> Data? { try await inner.read() }
    func replace(_: Data?, with _: Data?) async throws -> Bool { throw StoreFailure.failed("the process has ended") }
}

/// A store whose next write waits until the test releases it: before it is made, or after.
final class HeldStore: SessionStore, @unchecked Sendable {
    // Unchecked: `holds` is only used under `lock`.
    private let lock = NSLock()
    private let inner = MemoryStore()
    private var holds: (before: Hold?, after: Hold?)

    func hold(before: Hold? = nil, after: Hold? = nil) { lock.withLock { holds = (before, after) } }

    var data: Data? { inner.read() }

    func read() -> Data? { inner.read() }

    private func next() -> (before: Hold?, after: Hold?) {
        lock.withLock {
            defer { holds = (nil, nil) }
            return holds
        }
    }

    func replace(_ old: Data?, with new: Data?) async throws -> Bool {
        let holds = next()
        await holds.before?.wait()
        let isReplaced = inner.replace(old, with: new)
        await holds.after?.wait()
        return isReplaced
    }
}

/// A store whose next read waits, once it is made, until the test releases it.
final class HeldReads: SessionStore, @unchecked Sendable {
    // Unchecked: `next` is only used under `lock`.
    private let lock = NSLock()
    private let inner = MemoryStore()
    private var next: Hold?

    func hold(_ hold: Hold) { lock.withLock { next = hold } }

    private func taken() -> Hold? {
        lock.withLock {
            defer { next = nil }
            return next
        }
    }

    func read() async -> Data? {
        let (hold, data) = (taken(), inner.read())
        await hold?.wait()
        return data
    }

    func replace(_ old: Data?, with new: Data?) -> Bool { inner.replace(old, with: new) }
}

/// Sends requests to another transport, and keeps them.
final class RecordingTransport: Transport, @unchecked Sendable {
    // Unchecked: `sent` is only used under `lock`.
    private let lock = NSLock()
    private let inner: any Transport
    private var sent: [URLRequest] = []

    init(_ inner: any Transport) { self.inner = inner }

    var requests: [URLRequest] { lock.withLock { sent } }

    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        lock.withLock { sent.append(request) }
        return try await inner.send(request, uploading: file)
    }
}

/// The session in a store; nil if there is none.
func storedMembers(_ data: Data?) -> [String: JSONValue]? {
    guard let data, let item = try? JSONDecoder().decode(JSONValue.self, from: data),
        case .object(let session)? = item["session"]
    else { return nil }
    return session
}

/// The error that the body throws; nil if it throws none.
func failure(_ body: () async throws -> Void) async -> GatehouseError? {
    do {
        try await body()
        return nil
    } catch { return error as? GatehouseError }
}

extension Gatehouse {
    /// The status of the response to a request that needs the session.
    func echo() async throws -> Int { try await data("/echo").1.statusCode }
}
