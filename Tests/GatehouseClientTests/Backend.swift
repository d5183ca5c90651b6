import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A gateway for the contract tests: the fake one, or a real one with a local pool and a local Apple.
protocol Backend: Sendable, CustomTestStringConvertible {
    var url: URL { get }
    var transport: any Transport { get }
    var clock: any ClientClock { get }
    /// A confirmed user of the pool, whom no other test uses.
    func newUser(_ name: String) async throws -> (email: String, password: String)
    /// The code of the last message to an address or number.
    func code(for email: String) async throws -> String
    /// The code that an authenticator app shows, which was not used before.
    func authenticatorCode(for secret: String) async throws -> String
    /// The response of the user's authenticator to the options of a registration or a sign-in.
    func passkeyResponse(to options: JSONValue, email: String) async throws -> JSONValue
    /// The phone's result for an app that signs in with Apple.
    func appleCredential(email: String, hashedNonce: String) async throws -> AppleCredential
    /// Sets the clocks of the gateway, its pool and its Apple forward.
    func advance(by seconds: TimeInterval) async throws
}

extension Backend {
    func client(_ store: any SessionStore = MemoryStore()) -> Gatehouse {
        Gatehouse(Configuration(url: url), store: store, transport: transport, clock: clock)
    }

    /// Registers and confirms a user by the calls of the gateway.
    func newUser(_ name: String) async throws -> (email: String, password: String) {
        let user = (email: "\(name)-\(UUID().uuidString.lowercased())@example.com", password: ben.password)
        let client = client()
        _ = try await client.register(.email(user.email), password: user.password, fullName: name)
        try await client.confirm(.email(user.email), code: code(for: user.email))
        return user
    }
}

struct FakeBackend: Backend {
    private let gateway: FakeGateway
    private let manual = ManualClock()

    init() { gateway = FakeGateway(clock: manual) }

    var testDescription: String { "the fake gateway" }

    var url: URL { FakeGateway.url }
    var transport: any Transport { gateway }
    var clock: any ClientClock { manual }

    func code(for email: String) async throws -> String { try #require(gateway.code(for: email)) }

    func authenticatorCode(for secret: String) async throws -> String {
        manual.advance(by: 30)
        return gateway.authenticatorCode(for: secret)
    }

    func passkeyResponse(to options: JSONValue, email: String) async throws -> JSONValue {
        gateway.passkeyResponse(to: options, email: email)
    }

    func appleCredential(email: String, hashedNonce: String) async throws -> AppleCredential {
        gateway.appleCredential(email: email, hashedNonce: hashedNonce)
    }

    func advance(by seconds: TimeInterval) async throws { manual.advance(by: seconds) }
}

/// A real gateway at `GATEHOUSE_URL`. `GATEHOUSE_CONTROL` gives codes and credentials, as a mailbox and a phone do.
struct RealBackend: Backend {
    let url: URL
    private let control: URL
    private let session = URLSessionTransport()

    /// - Returns: nil if the environment names no gateway.
    init?() {
        let environment = ProcessInfo.processInfo.environment
        guard let url = environment["GATEHOUSE_URL"].flatMap(URL.init(string:)),
            let control = environment["GATEHOUSE_CONTROL"].flatMap(URL.init(string:))
        else { return nil }
        (self.url, self.control) = (url, control)
    }

    var testDescription: String { "a real gateway" }
    var transport: any Transport { session }
    var clock: any ClientClock { SystemClock() }

    private func ask(_ path: String, _ query: [String: String]) async throws -> JSONValue {
        let asked = URLComponents(url: control.appendingPathComponent(path), resolvingAgainstBaseURL: false)
        var components = try #require(asked)
        components.queryItems = query.map { URLQueryItem(name: $0.key, value: $0.value) }
        // In a form's query a plus sign is a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        let (response, body) = try await session.send(URLRequest(url: #require(components.url)), uploading: nil)
        var data = Data()
        for try await piece in body { data.append(piece) }
        try #require(response.statusCode == 200)
        return try JSONDecoder().decode(JSONValue.self, from: data)
    }

    func code(for email: String) async throws -> String {
        try #require(try await ask("code", ["email": email])["code"]?.text)
    }

    func authenticatorCode(for secret: String) async throws -> String {
        try #require(try await ask("authenticator", ["secret": secret])["code"]?.text)
    }

    func passkeyResponse(to options: JSONValue, email: String) async throws -> JSONValue {
        let text = String(decoding: try JSONEncoder().encode(options), as: UTF8.self)
        return try await ask("passkey", ["options": text, "email": email])
    }

    func appleCredential(email: String, hashedNonce: String) async throws -> AppleCredential {
        let given = try await ask("apple", ["user": email, "nonce": hashedNonce])
        return AppleCredential(
            identityToken: try #require(given["identity_token"]?.text),
            authorizationCode: given["authorization_code"]?.text, userIdentifier: given["user"]?.text)
    }

    func advance(by seconds: TimeInterval) async throws {
        _ = try await ask("advance", ["seconds": String(Int(seconds))])
    }
}

/// A fake of the caller's own, and the real gateway where the environment names one.
func makeBackends() -> [any Backend] { [FakeBackend() as any Backend] + [RealBackend()].compactMap { $0 } }

/// Those whose clock no test sets forward.
let backends = makeBackends()
