import Foundation
import Locking
import NIOCore
import SettingsReader
import Sockets
import TestSupport
import Testing

@testable import Accounts
@testable import Admin
@testable import Gateway
@testable import Keys
@testable import Proxy
@testable import Settings
@testable import Telemetry

/// A gateway in this process, on addresses of its own.
@Suite("A running gateway", .timeLimit(.minutes(10)))
struct RunningGatewayTests {
    private static let environment = ["SECRET": "0123456789abcdef0123456789abcdef"]

    private static func settings(_ directory: String, _ lines: String...) throws -> GatewaySettings {
        let yaml = """
            listeners: [{address: '127.0.0.1:0'}]
            admin: {address: '127.0.0.1:0'}
            threads: 1
            state_directory: \(directory)/state
            logging: {file: \(directory)/log, access_log: false}
            audit: {log: off}
            upstreams: {api: {url: 'http://127.0.0.1:1', health: {path: /health}}}
            issuers: {own: {profile: oidc, issuer: 'https://id.example', audiences: [api], secret: '${SECRET}'}}
            routes: [{path: /a, upstream: api}]
            \(lines.joined(separator: "\n"))
            """
        return try GatewaySettings.load(path: "/settings.yaml", environment: environment) {
            (path) throws(FileReadFailure) in
            guard path == "/settings.yaml" else { throw .notFound }
            return Array(yaml.utf8)
        }
    }

    /// Runs a gateway with these settings, and ends it as the process does.
    private static func withGateway(
        _ settings: GatewaySettings, _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let group = try SocketEventLoopGroup(count: 1)
        let logs = try GatewayLogs(settings)
        let gateway = try await RunningGateway.start(
            settings, on: group, logs: logs, tracing: CurrentTracing(), reloads: ReloadRequests(),
            environment: environment)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(gateway))
        } catch {
            outcome = .failure(error)
        }
        await gateway.drain()
        await gateway.close()
        try await group.shutdownGracefully()
        logs.close()
        try outcome.get()
    }

    private static func withDirectoryForLogs(_ body: (String) async throws -> Void) async throws {
        try await withDirectory { path in
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try await body(path)
        }
    }

    @Test("Settings hold for services that outlast reloads as soon as a reload has ended, in the reloads' order")
    func order() async throws {
        try await Self.withDirectoryForLogs { path in
            func settings(_ number: Int) throws -> GatewaySettings {
                try Self.settings(
                    path, "key_sets: {stale_limit: \(number)h}", "limits: {revocations: \(number)000}",
                    "account_limits: {sign_in: {address: \(number)/1m}}",
                    "identity: {assertion: {issuer: 'https://gateway.example', rotate_every: \(number)0d}}")
            }
            try await Self.withGateway(try settings(1)) { gateway in
                let first = await gateway.snapshot
                for number in [2, 3, 1, 4] {
                    let settings = try settings(number)
                    guard case .applied = await gateway.reload({ settings }) else {
                        Issue.record("the reload to \(number) was refused")
                        return
                    }
                    let snapshot = await gateway.snapshot
                    #expect(snapshot.plan.keyServices.map(\.policy) == Wiring.keySetPolicies(settings))
                    #expect(snapshot.plan.revocations?.status.limit == number * 1000)
                    let limits = snapshot.accountServices?.limits.state.withLock { $0.settings }
                    #expect(limits == settings.accountLimits)
                    #expect(
                        snapshot.plan.assertionKeys?.schedule == RotationSchedule.assertionKeys(settings))
                    // The same services go on.
                    #expect(zip(first.services, snapshot.services).allSatisfy { $0 === $1 })
                    #expect(first.services.count == snapshot.services.count)
                }
            }
        }
    }

    @Test("A snapshot lists its services: keys, what the store needs, accounts, and health checks")
    func services() async throws {
        func names(_ snapshot: ConfigurationSnapshot) -> [String] {
            snapshot.services.map { "\(type(of: $0))" }
        }
        try await Self.withDirectoryForLogs { path in
            try await Self.withGateway(try Self.settings(path)) { gateway in
                let always = [
                    "KeySetService", "RevocationService", "StoreUpkeep", "StoreWatch", "AccountLimits", "Outbox",
                    "ServerCheck",
                ]
                #expect(names(await gateway.snapshot) == always)
                let more = try Self.settings(
                    path, "identity: {assertion: {issuer: 'https://gateway.example'}}",
                    "tracing: {endpoint: 'http://127.0.0.1:1/v1/traces', allow_insecure_http: true}")
                guard case .applied = await gateway.reload({ more }) else {
                    Issue.record("the reload was refused")
                    return
                }
                #expect(
                    names(await gateway.snapshot)
                        == ["KeySetService", "AssertionKeyService"] + always[1..<6] + ["TraceService", "ServerCheck"])
            }
        }
    }
}
