import Foundation

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// The code of the articles in GatehouseClient.docc, which ArticleTests compares with them. It is compiled, and not run.
#if !canImport(Security)
    private func SystemKeychain() -> KeychainInMemory { KeychainInMemory() }
#endif
#if !os(iOS) && !os(macOS) && !os(visionOS)
    extension Biometrics {
        fileprivate init(reason _: String, goodFor: TimeInterval) { self.init(goodFor: goodFor) { true } }
    }
#endif

private struct Tokens {
    var refresh = ""
    var deviceID = ""
}

private func askForCode() async -> String { "" }
private func showSignIn() {}
private func show(_: String) {}
private func show(_: Data) {}
private func askToConfirm() {}
private func showOffline() {}
@Sendable private func readTokens() throws -> Tokens? { nil }
@Sendable private func deleteTokens() throws {}

private let password = ""
private let email = ""
private let new = ""

func amplifyToken(_ data: Data) -> LegacyToken? {
    let record = try? JSONDecoder().decode(JSONValue.self, from: data)
    let pool = record?["userPoolOnly"] ?? record?["userPoolAndIdentityPool"]
    let user = pool?["signedInData"]
    guard let text = user?["cognitoUserPoolTokens"]?["refreshToken"]?.text else { return nil }
    var token = LegacyToken(text)
    token.deviceKey = user?["deviceMetadata"]?["metadata"]?["_0"]?["deviceKey"]?.text
    return token
}

private enum FrontPage {
    static let gatehouse = Gatehouse(url: URL(fileURLWithPath: "/"))

    static func start() async throws {
        if await gatehouse.restore().user == nil {
            try await gatehouse.signIn("ada@example.com", password: password)
        }
        let (orders, _) = try await gatehouse.data("api/v1/orders")
        show(orders)
    }
}

private func moveFromAmplify(_ gatehouse: Gatehouse) async throws {
    let amplify = LegacyTokens.keychain(
        SystemKeychain(),
        service: "com.amplify.awsCognitoAuthPlugin",
        account: "amplify.eu-central-1_AbCdEfGhI.session",
        token: amplifyToken)
    try await gatehouse.takeOver(from: [amplify])

    let step = try await gatehouse.signIn(
        .email(email), password: password)
    if case .challenge(let challenge) = step {
        let code = await askForCode()
        try await gatehouse.answer(
            challenge, with: .code(code))
    }

    let orders = gatehouse.request("api/v1/orders")
    let (data, response) =
        try await gatehouse.data(for: orders)
    _ = (data, response)

    for await state in await gatehouse.states {
        if case .signedOut = state { showSignIn() }
    }
}

private func moveFromCognito(_ gatehouse: Gatehouse) async throws {
    try await gatehouse.signIn(
        .email(email), password: password)

    try await gatehouse.forgotPassword(.email(email))
    let code = await askForCode()
    try await gatehouse.resetPassword(
        .email(email), code: code, newPassword: new)
}

private func tellApart(_ error: GatehouseError) {
    switch error {
    case .wrongCredentials, .tooManyTries:
        show(error.message)
    case .notConfirmed: askToConfirm()
    case .network: showOffline()
    default: show(error.message)
    }
}

private func moveFromUserDefaults(_ gatehouse: Gatehouse, _ request: URLRequest) async throws {
    try await gatehouse.takeOver(from: [
        .userDefaults("refreshToken", removing: ["accessToken"])
    ])

    let old = LegacyTokens {
        guard let tokens = try readTokens() else { return nil }
        var token = LegacyToken(tokens.refresh)
        token.deviceID = tokens.deviceID
        return token
    } remove: {
        try deleteTokens()
    }
    try await gatehouse.takeOver(from: [old])

    let (data, response) =
        try await gatehouse.data(for: request)
    _ = (data, response)
}

private func askForFaceID(_ url: URL, _ store: any SessionStore, _ reason: String) {
    let gatehouse = Gatehouse(
        Configuration(url: url), store: store,
        presence: Biometrics(reason: reason, goodFor: 300))
    _ = gatehouse
}
