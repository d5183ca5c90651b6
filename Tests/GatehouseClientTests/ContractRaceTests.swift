import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("Races over a session of a gateway, fake or real")
struct ContractRaceTests {
    @Test(
        "firebase-ios-sdk#15474: a thousand uses at once of an expired token make one refresh",
        arguments: backends, SessionKind.allCases)
    func parallelUses(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "thousand")
        let client = try await stage.signedIn(kind)
        stage.clock.advance(by: kind.lifetime)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<1000 { group.addTask { try await client.use(kind) } }
            for try await email in group { #expect(email == stage.user.email) }
        }
        #expect(stage.transport.requests(kind.refreshPath) == 1)
        #expect(stage.transport.requests(kind.usePath) == 1000)
    }

    @Test(
        "supabase-swift#703, AppAuth-iOS#814: three clients of one store refresh at once, and all stay signed in",
        arguments: backends, SessionKind.allCases)
    func sharedStore(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "shared")
        let clients = [try await stage.signedIn(kind), stage.client(), stage.client()]
        for _ in 0..<5 {
            try await withThrowingTaskGroup(of: String?.self) { group in
                for client in clients {
                    group.addTask {
                        try await client.refresh()
                        return try await client.use(kind)
                    }
                    for _ in 0..<2 { group.addTask { try await client.use(kind) } }
                }
                for try await email in group { #expect(email == stage.user.email) }
            }
        }
        for client in clients { #expect(await client.state.user?.email == stage.user.email) }
        if kind == .password { #expect(try await clients[0].sessions().count == 1) }
    }

    @Test(
        "A refresh that another process has overtaken is no reuse, though a third one's clock is ahead",
        arguments: backends, SessionKind.allCases)
    func overtakenRefresh(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "overtaken")
        let clients = [try await stage.signedIn(kind), stage.client(), stage.client()]
        for client in clients { await client.restore() }
        // The device's clock alone: until the gateway says what time it is, its tokens seem to have ended when made.
        stage.clock.advance(by: kind.lifetime)
        let hold = Hold()
        stage.transport.inject(.heldBefore(hold), at: kind.refreshPath)
        let late = Task { try await clients[1].use(kind) }
        await hold.reached()
        #expect(try await clients[0].use(kind) == stage.user.email)
        #expect(try await clients[2].use(kind) == stage.user.email)
        hold.release()
        #expect(try await late.value == stage.user.email)
        #expect(stage.transport.requests(kind.refreshPath) == 2)
    }

    @Test(
        "supabase-swift#1371: a refresh that ends after a sign-out brings nobody back",
        arguments: backends, SessionKind.allCases)
    func signOutMeanwhile(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "sign-out-meanwhile")
        let client = try await stage.signedIn(kind)
        let hold = Hold()
        stage.transport.inject(.heldAfter(hold), at: kind.refreshPath)
        let late = Task { try await client.refresh() }
        await hold.reached()
        let copy = MemoryStore(stage.store.read())
        #expect(await client.signOut())
        hold.release()
        #expect(await failure { try await late.value } == .signedOut(.requested))
        #expect(await client.state == .signedOut(.requested))
        #expect(storedMembers(stage.store.read()) == nil)
        let error = await failure { try await stage.client(copy).refresh() }
        guard case .signedOut(.ended) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("supabase-swift#1371: a refresh that ends after another user's sign-in is dropped", arguments: backends)
    func otherUserMeanwhile(_ backend: any Backend) async throws {
        let stage = try await Stage(backend, "first")
        let other = try await backend.newUser("second")
        let client = try await stage.signedIn()
        let hold = Hold()
        stage.transport.inject(.heldAfter(hold))
        let late = Task { try await client.refresh() }
        await hold.reached()
        await client.signOut()
        try await client.signIn(.email(other.email), password: other.password)
        let stored = stage.store.read()
        hold.release()
        #expect(await failure { try await late.value } == .signedOut(.elsewhere))
        #expect(stage.store.read() == stored)
        #expect(try await client.me().email == other.email)
    }

    @Test(
        "A wall clock that jumps an hour either way signs nobody out", arguments: backends,
        [(-3600, .password), (3600, .password), (-3600, .apple), (3600, .apple)] as [(TimeInterval, SessionKind)])
    func wallClock(_ backend: any Backend, _ jump: (seconds: TimeInterval, kind: SessionKind)) async throws {
        let (seconds, kind) = jump
        let stage = try await Stage(backend, "clock")
        let client = try await stage.signedIn(kind)
        stage.clock.setWallClock(forwardBy: seconds)
        #expect(try await client.use(kind) == stage.user.email)
        #expect(stage.transport.requests(kind.refreshPath) == 0)
        // Nor at the next start, where only the wall clock is left to go by.
        let next = stage.client()
        #expect(await next.restore().user?.email == stage.user.email)
        #expect(try await next.use(kind) == stage.user.email)
        try await next.refresh()
        #expect(try await next.use(kind) == stage.user.email)
    }

    @Test(
        "A device that has slept past the token's end refreshes before it sends anything", arguments: backends,
        SessionKind.allCases)
    func asleep(_ backend: any Backend, _ kind: SessionKind) async throws {
        let stage = try await Stage(backend, "asleep")
        let client = try await stage.signedIn(kind)
        stage.clock.advance(by: kind.lifetime)
        #expect(try await client.use(kind) == stage.user.email)
        #expect(stage.transport.requests(kind.refreshPath) == 1)
        #expect(stage.transport.requests(kind.usePath) == 1)
    }
}
