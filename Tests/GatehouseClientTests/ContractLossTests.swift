import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Refreshes at a gateway, fake or real, that are lost or refused")
struct ContractLossTests {
    @Test(
        "Auth0.swift#490: an app that is killed in a refresh is signed in at its next start", arguments: backends,
        pairs(LossTests.Point.allCases))
    func killed(_ backend: any Backend, _ loss: (LossTests.Point, SessionKind)) async throws {
        let (point, kind) = loss
        let stage = try await Stage(backend, "killed")
        _ = try await stage.signedIn(kind)
        let hold = Hold()
        let store: any SessionStore = point == .beforeStoring ? LostWrites(inner: stage.store) : stage.store
        let killed = stage.client(store)
        await killed.restore()
        let before = stage.store.read()
        switch point {
        case .beforeSending: stage.transport.inject(.heldBefore(hold, then: .noConnection), at: kind.refreshPath)
        case .afterRotation: stage.transport.inject(.heldAfter(hold), at: kind.refreshPath)
        case .beforeStoring: try await killed.refresh()
        }
        // Never released before the next starts have done their work: this process does nothing any more.
        let task = point == .beforeStoring ? nil : Task { try await killed.refresh() }
        if task != nil { await hold.reached() }
        #expect(stage.store.read() == before)
        stage.clock.advance(by: 1)
        for _ in 0..<2 {
            let next = stage.client()
            #expect(await next.restore().user?.email == stage.user.email)
            try await next.refresh()
            #expect(try await next.use(kind) == stage.user.email)
        }
        task?.cancel()
        hold.release()
        _ = await task?.result
    }

    @Test(
        "Any 401 signs out: a failed refresh keeps the session, and the next one succeeds", arguments: backends,
        pairs(RefusalTests.failures))
    func keepsSession(_ backend: any Backend, _ failing: (RefusalTests.Failure, SessionKind)) async throws {
        let (failed, kind) = failing
        let stage = try await Stage(backend, "failed")
        let client = try await stage.signedIn(kind)
        stage.clock.advance(by: kind.lifetime)
        for fault in failed.faults { stage.transport.inject(fault, at: kind.refreshPath) }
        let error = await failure { _ = try await client.use(kind) }
        #expect(error != nil)
        if case .signedOut = error { Issue.record("signed out") }
        #expect(await client.state.user?.email == stage.user.email)
        // Until the pause is over, nobody asks the gateway again.
        let asked = stage.transport.requests(kind.refreshPath)
        #expect(await failure { _ = try await client.use(kind) } == error)
        #expect(stage.transport.requests(kind.refreshPath) == asked)
        stage.clock.advance(by: failed.pause)
        #expect(try await client.use(kind) == stage.user.email)
        stage.clock.advance(by: kind.lifetime)
        #expect(try await stage.client().use(kind) == stage.user.email)
    }

    @Test(
        "Any 401 signs out: one that is not about the token is handed on, without a refresh", arguments: backends,
        [nil, "Bearer", "Basic realm=\"x\"", "Bearer error=\"insufficient_user_authentication\", max_age=\"60\""])
    func foreignRefusal(_ backend: any Backend, _ challenge: String?) async throws {
        let stage = try await Stage(backend, "foreign")
        let client = try await stage.signedIn()
        let headers = challenge.map { ["WWW-Authenticate": $0] } ?? [:]
        stage.transport.inject(.response(status: 401, body: "no", headers: headers), at: mePath)
        #expect(try await client.status() == 401)
        #expect(stage.transport.requests() == 0)
        #expect(await client.state.user?.email == stage.user.email)
    }

    @Test("A token that is refused is refreshed, and the request repeated once", arguments: backends)
    func refusedToken(_ backend: any Backend) async throws {
        let stage = try await Stage(backend, "refused-token")
        let client = try await stage.signedIn()
        let challenge = ["WWW-Authenticate": "Bearer error=\"invalid_token\""]
        stage.transport.inject(.response(status: 401, body: "no", headers: challenge), at: mePath)
        #expect(try await client.status() == 200)
        #expect(stage.transport.requests() == 1)
    }

    @Test("A Wi-Fi that swallows packets ends a refresh after its time, and signs nobody out", arguments: backends)
    func swallowed(_ backend: any Backend) async throws {
        let stage = try await Stage(backend, "swallowed")
        _ = try await stage.signedIn()
        stage.clock.advance(by: 7200)
        let wifi = try LoopbackListener(response: nil)
        var configuration = Configuration(url: wifi.url)
        configuration.timeout = 1
        let client = Gatehouse(configuration, store: stage.store, clock: stage.clock)
        let error = await failure { _ = try await client.status() }
        guard case .network(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.code == .timedOut)
        #expect(await client.state.user?.email == stage.user.email)
        #expect(try await stage.client().status() == 200)
    }
}
