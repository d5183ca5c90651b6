import ExampleApp
import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("The two screens of the example app")
@MainActor
struct ExampleAppTests {
    private let gateway = FakeGateway(clock: ManualClock())
    private let gatehouse: Gatehouse
    private let email = "ada@example.com"
    private let password = "Correct-Horse-7-Battery"

    init() {
        gateway.addUser(email: email, password: password, name: "Ada Lovelace")
        gatehouse = Gatehouse(
            Configuration(url: FakeGateway.url), store: MemoryStore(), transport: gateway, clock: gateway.clock)
    }

    private func signIn(_ model: SignInModel, password: String? = nil) async {
        (model.email, model.password) = (email, password ?? self.password)
        await model.signIn()
    }

    @Test("The password signs in, and is forgotten")
    func password() async {
        let model = SignInModel(gatehouse)
        await signIn(model)
        #expect(await gatehouse.state.user?.email == email)
        #expect(model.message == nil)
        #expect(model.password.isEmpty)
        #expect(!model.isBusy)
    }

    @Test("A wrong password shows the gateway's message, and the next try can succeed")
    func wrongPassword() async {
        let model = SignInModel(gatehouse)
        await signIn(model, password: "Wrong-Horse-1-Battery")
        #expect(model.message == "Incorrect email or password.")
        #expect(await gatehouse.state.user == nil)
        await signIn(model)
        #expect(model.message == nil)
        #expect(await gatehouse.state.user != nil)
    }

    @Test("A second factor asks for its code, which can be typed again")
    func code() async throws {
        try await gatehouse.signIn(.email(email), password: password)
        let key = try await gatehouse.setUpAuthenticator()
        try await gatehouse.verifyAuthenticator(code: gateway.authenticatorCode(for: key.secret.text))
        await gatehouse.signOut()
        let model = SignInModel(gatehouse)
        await signIn(model)
        #expect(model.challenge?.kind == .authenticatorCode)
        model.code = "000"
        await model.signIn()
        #expect(model.message == "The code is not right.")
        #expect(model.challenge != nil)
        try await gateway.clock.pause(seconds: 30)
        model.code = gateway.authenticatorCode(for: key.secret.text)
        await model.signIn()
        #expect(await gatehouse.state.user?.email == email)
        #expect(model.challenge == nil)
        #expect(model.code.isEmpty)
    }

    @Test("Apple's button signs in, and its error is shown")
    func apple() async {
        let model = SignInModel(gatehouse)
        let nonce = gatehouse.makeAppleNonce()
        let credential = gateway.appleCredential(email: "ada@icloud.example", hashedNonce: nonce.hashed)
        let other = gatehouse.makeAppleNonce()
        await model.run { try await gatehouse.signIn(with: credential, nonce: other) }
        #expect(model.message == "The sign-in with Apple could not be verified.")
        let next = gateway.appleCredential(email: "ada@icloud.example", hashedNonce: nonce.hashed)
        await model.run { try await gatehouse.signIn(with: next, nonce: nonce) }
        #expect(model.message == nil)
        #expect(await gatehouse.state.user?.email == "ada@icloud.example")
    }

    @Test("Without a network the screen says so")
    func offline() async {
        let model = SignInModel(gatehouse)
        for _ in 0..<3 { gateway.inject(.noConnection) }
        await signIn(model)
        #expect(model.message == "There is no connection. Try again later.")
    }

    @Test("The list comes from the API, and an error leaves the last one")
    func list() async {
        await signIn(SignInModel(gatehouse))
        let model = ItemsModel(gatehouse)
        gateway.inject(.response(status: 200, body: #"{"items": [{"id": 1, "name": "item 1"}]}"#), at: "/items")
        await model.load()
        #expect(model.items == [Item(id: 1, name: "item 1")])
        #expect(model.message == nil)
        gateway.inject(.response(status: 502, body: ""), at: "/items")
        await model.load()
        #expect(model.message == "The list is not available (502).")
        gateway.inject(.noConnection, at: "/items")
        await model.load()
        #expect(model.message == "There is no connection. Try again later.")
        gateway.inject(.response(status: 200, body: "<html>"), at: "/items")
        await model.load()
        #expect(model.message != nil)
        #expect(model.items == [Item(id: 1, name: "item 1")])
    }

    @Test("A sign-out ends the session")
    func signOut() async {
        await signIn(SignInModel(gatehouse))
        await ItemsModel(gatehouse).signOut()
        #expect(await gatehouse.state == .signedOut(.requested))
        #expect(gateway.openSessions.isEmpty)
    }
}
