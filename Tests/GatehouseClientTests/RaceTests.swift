import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("Races over a session")
struct RaceTests {
    @Test("firebase-ios-sdk#15474: a thousand uses at once of an expired token make one refresh")
    func parallelUses() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.clock.advance(by: 7200)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1000 { group.addTask { try await client.echo() } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(scene.refreshes == 1)
        #expect(scene.gateway.requests("/echo") == 1000)
    }

    @Test("A hundred uses whose token the gateway refuses make one refresh, and are repeated")
    func parallelRefusals() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.gateway.refuseAccessTokens()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await client.echo() } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(scene.refreshes == 1)
    }

    @Test("supabase-swift#703, AppAuth-iOS#814: an app and its extensions refresh at once, and all stay signed in")
    func sharedStore() async throws {
        let scene = Scene()
        let first = try await scene.signedIn()
        let clients = [first, scene.client(), scene.client()]
        for _ in 0..<20 {
            scene.clock.advance(by: 3600)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in clients {
                    for _ in 0..<5 { group.addTask { try await client.echo() } }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
        for client in clients { #expect(await client.state.user?.email == ada.email) }
        #expect(scene.gateway.openSessions.count == 1)
    }

    @Test("An extension whose refresh is held while the app refreshes gets the same tokens")
    func sameSuccessor() async throws {
        let scene = Scene()
        let app = try await scene.signedIn()
        let appExtension = scene.client()
        let hold = Hold()
        scene.gateway.inject(.heldBefore(hold), at: refreshPath)
        let late = Task { try await appExtension.refresh() }
        await hold.reached()
        try await app.refresh()
        let token = storedMembers(try await scene.store.read())?["refreshToken"]
        hold.release()
        try await late.value
        #expect(storedMembers(try await scene.store.read())?["refreshToken"] == token)
        try await app.refresh()
        try await appExtension.refresh()
        #expect(scene.gateway.openSessions.count == 1)
    }

    @Test("A caller that is cancelled does not end the refresh for the others")
    func cancelledCaller() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.clock.advance(by: 7200)
        let hold = Hold()
        scene.gateway.inject(.heldBefore(hold), at: refreshPath)
        let cancelled = Task { try await client.echo() }
        await hold.reached()
        let other = Task { try await client.echo() }
        cancelled.cancel()
        hold.release()
        #expect(try await other.value == 200)
        _ = await cancelled.result
        #expect(scene.refreshes == 1)
    }

    @Test("supabase-swift#1371: a refresh that ends after a sign-out brings nobody back")
    func signOutMeanwhile() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let hold = Hold()
        scene.gateway.inject(.heldAfter(hold), at: refreshPath)
        let late = Task { try await client.refresh() }
        await hold.reached()
        #expect(await client.signOut())
        hold.release()
        let error = await failure { try await late.value }
        #expect(error == .signedOut(.requested))
        #expect(await client.state == .signedOut(.requested))
        #expect(storedMembers(try await scene.store.read()) == nil)
        #expect(scene.gateway.openSessions.isEmpty)
    }

    @Test("A sign-out whose task is cancelled ends the session at the gateway too")
    func cancelledSignOut() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let signOut = Task {
            while !Task.isCancelled { await Task.yield() }
            return await client.signOut()
        }
        signOut.cancel()
        #expect(await signOut.value)
        #expect(scene.gateway.openSessions.isEmpty)
    }

    @Test("A sign-out while new tokens are being stored leaves none in the store", arguments: [false, true])
    func signOutWhileStoring(_ isWritten: Bool) async throws {
        let store = HeldStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        let hold = Hold()
        if isWritten { store.hold(after: hold) } else { store.hold(before: hold) }
        let late = Task { try await client.refresh() }
        await hold.reached()
        for _ in 0..<3 { scene.gateway.inject(.noConnection, at: "/logout") }
        #expect(await client.signOut() == false)
        hold.release()
        let error = await failure { try await late.value }
        #expect(error == .signedOut(.requested))
        #expect(storedMembers(store.data) == nil)
        #expect(await client.state == .signedOut(.requested))
        #expect(await scene.client().restore() == .signedOut(.notSignedIn))
    }

    @Test("A sign-out while a sign-in is being stored leaves nobody in the store", arguments: [false, true])
    func signOutWhileSigningIn(_ isWritten: Bool) async throws {
        let store = HeldStore()
        let scene = Scene(store: store)
        let client = scene.client()
        let hold = Hold()
        if isWritten { store.hold(after: hold) } else { store.hold(before: hold) }
        let late = Task { try await client.signIn(.email(ada.email), password: ada.password) }
        await hold.reached()
        await client.signOut()
        hold.release()
        _ = await late.result
        #expect(await client.state == .signedOut(.requested))
        #expect(storedMembers(store.data) == nil)
        try await client.signIn(.email(ben.email), password: ben.password)
        #expect(await scene.client().restore().user?.email == ben.email)
    }

    @Test("supabase-swift#1371: a refresh that ends after another user's sign-in is dropped")
    func otherUserMeanwhile() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let hold = Hold()
        scene.gateway.inject(.heldAfter(hold), at: refreshPath)
        let late = Task { try await client.refresh() }
        await hold.reached()
        await client.signOut()
        try await client.signIn(.email(ben.email), password: ben.password)
        let stored = try await scene.store.read()
        hold.release()
        let error = await failure { try await late.value }
        #expect(error == .signedOut(.elsewhere))
        #expect(await client.state.user?.email == ben.email)
        #expect(try await scene.store.read() == stored)
        #expect(try await client.me().email == ben.email)
    }

    @Test("A failure of the last user's refresh does not keep the next user from refreshing")
    func otherUsersFailure() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let hold = Hold()
        let away = GatewayError(name: "ServiceUnavailableException", message: "Later.", status: 503, retryAfter: 3600)
        scene.gateway.inject(.heldBefore(hold, then: .refusal(away)), at: refreshPath)
        let late = Task { try await client.refresh() }
        await hold.reached()
        await client.signOut()
        try await client.signIn(.email(ben.email), password: ben.password)
        scene.clock.advance(by: 3600)
        hold.release()
        _ = await failure { try await late.value }
        #expect(try await client.echo() == 200)
        #expect(await client.state.user?.email == ben.email)
    }

    @Test("supabase-swift#1371: a profile that comes after another user's sign-in is not that user's")
    func lateProfile() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let hold = Hold()
        scene.gateway.inject(.heldAfter(hold), at: "/me")
        let late = Task { try await client.me() }
        await hold.reached()
        await client.signOut()
        try await client.signIn(.email(ben.email), password: ben.password)
        hold.release()
        _ = await late.result
        #expect(await client.state.user?.email == ben.email)
        #expect(storedMembers(try await scene.store.read())?["user"]?["email"]?.text == ben.email)
    }

    @Test("A user who is changed during a refresh stays changed, here or in another process", arguments: [false, true])
    func changedUser(_ isElsewhere: Bool) async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let hold = Hold()
        scene.gateway.inject(.heldAfter(hold), at: refreshPath)
        let late = Task { try await client.refresh() }
        await hold.reached()
        _ = try await (isElsewhere ? scene.client() : client).update(name: "Ada King")
        hold.release()
        try await late.value
        #expect(await client.state.user?.name == "Ada King")
        #expect(storedMembers(try await scene.store.read())?["user"]?["name"]?.text == "Ada King")
        #expect(scene.refreshes == 1)
    }

    @Test("A user whom another process has changed stays changed when this one refreshes")
    func changedUserElsewhere() async throws {
        let scene = Scene()
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        await appExtension.restore()
        try await app.update(name: "Ada King")
        try await appExtension.refresh()
        #expect(await appExtension.state.user?.name == "Ada King")
        #expect(storedMembers(try await scene.store.read())?["user"]?["name"]?.text == "Ada King")
        #expect(scene.refreshes == 1)
    }

    @Test("A user who is changed with a token that another process has replaced is stored, and its tokens stay")
    func changedUserWithOldToken() async throws {
        let scene = Scene()
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        await appExtension.restore()
        try await appExtension.refresh()
        let refreshed = storedMembers(try await scene.store.read())
        try await app.update(name: "Ada King")
        let stored = storedMembers(try await scene.store.read())
        #expect(stored?["user"]?["name"]?.text == "Ada King")
        #expect(stored?["refreshToken"]?.text != nil && stored?["refreshToken"] == refreshed?["refreshToken"])
        #expect(await scene.client().restore().user?.name == "Ada King")
        for client in [app, appExtension] {
            try await client.refresh()
            #expect(await client.state.user?.name == "Ada King")
        }
    }

    @Test("A user who is changed while new tokens are being stored stays changed", arguments: [false, true])
    func changedUserWhileStoring(_ isWritten: Bool) async throws {
        let store = HeldStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        let hold = Hold()
        if isWritten { store.hold(after: hold) } else { store.hold(before: hold) }
        let late = Task { try await client.refresh() }
        await hold.reached()
        try await client.update(name: "Ada King")
        hold.release()
        try await late.value
        #expect(await client.state.user?.name == "Ada King")
        #expect(storedMembers(store.data)?["user"]?["name"]?.text == "Ada King")
    }

    @Test("A deletion that is carried out after another user's sign-in signs only the deleted user out")
    func lateDeletion() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        let hold = Hold()
        scene.gateway.inject(.heldAfter(hold), at: "/me")
        let late = Task { try await client.deleteUser() }
        await hold.reached()
        try await client.signIn(.email(ben.email), password: ben.password)
        hold.release()
        _ = await late.result
        #expect(await client.state.user?.email == ben.email)
    }

    @Test("A request whose token is refused after another user's sign-in is not sent with that user's token")
    func repetitionAsAnotherUser() async throws {
        let scene = Scene()
        let transport = RecordingTransport(scene.gateway)
        let client = scene.client(transport: transport)
        try await client.signIn(.email(ada.email), password: ada.password)
        for path in ["/echo", "/me"] {
            let hold = Hold()
            scene.gateway.inject(.heldBefore(hold), at: path)
            let late = Task {
                if path == "/echo" {
                    let (data, _) = try await client.data("/echo")
                    return String(decoding: data, as: UTF8.self)
                }
                return try await client.update(name: "Ada King").id
            }
            await hold.reached()
            await client.signOut()
            try await client.signIn(.email(ben.email), password: ben.password)
            hold.release()
            let error = await failure { _ = try await late.value }
            #expect(error == .signedOut(.elsewhere), "\(path)")
            #expect(try await client.me().name == "Ben Example")
            await client.signOut()
            try await client.signIn(.email(ada.email), password: ada.password)
        }
    }

    @Test("A sign-out in one process is one in the others")
    func signOutElsewhere() async throws {
        let scene = Scene()
        let app = try await scene.signedIn()
        let appExtension = scene.client()
        #expect(await appExtension.restore().user != nil)
        await app.signOut()
        scene.clock.advance(by: 7200)
        #expect(await failure { _ = try await appExtension.data("/echo") } == .signedOut(.elsewhere))
        #expect(await appExtension.state == .signedOut(.elsewhere))
        #expect(scene.refreshes == 0)
    }
}
