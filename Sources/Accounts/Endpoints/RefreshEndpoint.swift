internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing

extension AccountOperation {
    package static let refresh = AccountOperation(
        "refresh", .post, budget: .refresh, effect: .refreshed, usualErrors: [.tokenRevoked, .tokenExpired])
}

/// `POST refresh`: exchanges what is in the token. Everyone who comes with one token at a time gets one answer.
/// Whatever is wrong with the token, the client gets the same answer; the access log has the reason.
struct RefreshEndpoint: AccountEndpoint {
    static let operation = AccountOperation.refresh

    private let refreshToken: Secret
    private let sealed: SealedRefreshToken

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        refreshToken = Secret(fields.requiredText("refresh_token", atMost: SealedText.maximumLength))
        let device = fields.device()
        try fields.check()
        call.device = device
        guard let sealed = accounts.sealedToken(in: refreshToken),
            sealed.clientID.hasSameBytes(as: accounts.settings.clientID)
        else { throw .tokenInvalid(.tokenRefresh, reason: .account(.invalidRefreshToken)) }
        self.sealed = sealed
        call.subject = sealed.subject
        call.session = CalledSession(sealed)
        guard !sealed.hasExpired(at: accounts.now()) else {
            throw .tokenInvalid(.tokenRefresh, reason: .account(.expiredRefreshToken))
        }
        guard accounts.isDevice(device?.deviceID, of: sealed) else {
            throw .tokenInvalid(.tokenRefresh, reason: .account(.otherDevice))
        }
        call.device = device ?? sealed.deviceID.map { DeviceInfo(deviceID: $0) }
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let outcome = await accounts.flights.outcome(for: SHA256.hash(refreshToken.expose())) {
            do throws(Refusal) {
                return .success(try await accounts.exchange(sealed, request))
            } catch {
                return .failure(error)
            }
        }
        let session = try outcome.get()
        var answer: JSONObject = [
            "access_token": .string(session.accessToken.exposeText()),
            "refresh_token": .string(session.refreshToken.exposeText()),
        ]
        if accounts.settings.returnIDToken { answer["id_token"] = session.idToken.map { .string($0.exposeText()) } }
        answer["token_type"] = "Bearer"
        answer["expires_in"] = .number(JSONNumber(max(0, session.accessExpiresAt - accounts.now())))
        answer["scope"] = session.scope.map(JSON.string)
        return AccountAnswer(.ok, answer, subject: session.subject)
    }
}

extension CognitoAccounts {
    /// Nil for a text that does not open.
    func sealedToken(in text: Secret) -> SealedRefreshToken? {
        try? SealedRefreshToken(opening: text, with: sealingKeys, poolID: settings.poolID)
    }

    fileprivate func isDevice(_ deviceID: String?, of sealed: SealedRefreshToken) -> Bool {
        guard let bound = sealed.deviceID else { return true }
        guard let deviceID else { return !settings.requiresDevice }
        return deviceID.hasSameBytes(as: bound)
    }
}
