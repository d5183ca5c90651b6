internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing
internal import Store

extension AccountOperation {
    package static let refresh = AccountOperation(
        "refresh", .post, budget: .refresh, effect: .refreshed, usualErrors: [.tokenRevoked, .tokenExpired])
}

/// `POST refresh`: exchanges the provider token in a sealed token. Concurrent requests with one token share one
/// exchange. Every error of the token gets the same response; the access log has the reason.
struct RefreshEndpoint: AccountEndpoint {
    static let operation = AccountOperation.refresh

    private enum Shown: Sendable {
        case sealed(SealedRefreshToken)
        /// A provider token, to be turned into a sealed one.
        case foreign(ShownRefreshToken)
    }

    private let refreshToken: Secret
    private let shown: Shown
    /// The client's device, as the client claims.
    private let deviceID: String?
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        refreshToken = Secret(fields.requiredText("refresh_token", atMost: SealedText.maximumLength))
        let device = fields.device()
        let clientID = fields.optionalFilledText("client_id", atMost: 128, .address)
        let deviceKey = fields.optionalFilledText("device_key", atMost: 55, .address)
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        call.device = device
        deviceID = device?.deviceID
        guard let sealed = try accounts.sealedToken(in: refreshToken) else {
            var foreign = try accounts.foreignToken(in: refreshToken, of: clientID)
            (foreign.deviceKey, foreign.device) = (deviceKey, device)
            call.tokenDigest = foreign.digest
            shown = .foreign(foreign)
            return
        }
        guard accounts.tokenClient(sealed.clientID) != nil else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.invalidRefreshToken))
        }
        shown = .sealed(sealed)
        call.subject = sealed.subject
        call.session = CalledSession(sealed)
        guard !sealed.hasExpired(at: accounts.now()) else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.expiredRefreshToken))
        }
        if accounts.isDevice(deviceID, of: sealed) { call.device = device.bound(to: sealed.deviceID) }
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        switch shown {
        case .foreign(let foreign): try await check(foreign, accounts, request, &admission.call)
        case .sealed(let sealed): try await accounts.requireDevice(deviceID, of: sealed, request)
        }
        // One token is exchanged once, with the metadata of the request that begins the exchange. The device is part of
        // the key because a repeated exchange depends on it.
        let key = SHA256.hash(refreshToken.expose() + Array("\n\(deviceID ?? "")".utf8))
        let outcome = await accounts.flights.outcome(for: key) {
            do throws(Refusal) {
                return switch shown {
                case .sealed(let sealed):
                    .success(try await accounts.exchange(sealed, on: deviceID, metadata: metadata, request))
                case .foreign(let foreign): .success(try await accounts.takeOver(foreign, metadata: metadata, request))
                }
            } catch {
                return .failure(error)
            }
        }
        let session = try outcome.get()
        if let user = session.user {
            await accounts.flow.accountGuard.noteNames(of: user, poolID: accounts.settings.poolID)
        }
        var answer: JSONObject = [
            "access_token": .string(session.accessToken.exposeText()),
            "refresh_token": .string(session.refreshToken.exposeText()),
        ]
        if accounts.settings.returnIDToken { answer["id_token"] = session.idToken.map { .string($0.exposeText()) } }
        answer["token_type"] = "Bearer"
        answer["expires_in"] = .number(JSONNumber(max(0, session.accessExpiresAt - accounts.now())))
        answer["scope"] = session.scope.map(JSON.string)
        return AccountAnswer(
            .ok, answer, subject: session.subject, outcome: session.isGivenAgain ? .givenAgain : .succeeded)
    }

    /// Checks the device of a provider token that was exchanged before: its session may be bound to one.
    private func check(
        _ foreign: ShownRefreshToken, _ accounts: CognitoAccounts, _ request: AccountRequest, _ call: inout AccountCall
    ) async throws(Refusal) {
        guard let record = try await accounts.record(of: foreign, request) else { return }
        call.subject = record.subject
        call.session = CalledSession(record)
        let standIn = foreign.standIn(poolID: accounts.settings.poolID, deviceID: record.deviceID)
        try await accounts.requireDevice(deviceID, of: standIn, request)
    }
}

extension CognitoAccounts {
    /// Unseals a refresh token; nil if it cannot be unsealed.
    ///
    /// - Throws: 503 if another gateway may have sealed it with a key that this one does not have yet.
    func sealedToken(in text: Secret) throws(Refusal) -> SealedRefreshToken? {
        do {
            return try SealedRefreshToken(opening: text, with: sealingKeys, poolID: settings.poolID)
        } catch {
            try sealingKeys.requireKey(of: text)
            return nil
        }
    }

    /// - Parameter clientID: the client that the app names; nil if it names none.
    /// - Throws: 401 if no such tokens are taken over.
    fileprivate func foreignToken(in text: Secret, of clientID: String?) throws(Refusal) -> ShownRefreshToken {
        guard let takeover = settings.sessionTakeover, var foreign = ShownRefreshToken(text),
            clientID?.isOne(of: takeover.clientIDs) != false
        else { throw .credentialsRefused(.tokenRefresh, reason: .account(.invalidRefreshToken)) }
        foreign.clientID = clientID
        return foreign
    }

    /// Checks the device of a session.
    ///
    /// - Throws: 401 for another device than the session's. On another device, a token that was exchanged before counts
    ///   as reuse: that device did not get it with the session.
    fileprivate func requireDevice(
        _ deviceID: String?, of sealed: SealedRefreshToken, _ request: AccountRequest
    ) async throws(Refusal) {
        guard !isDevice(deviceID, of: sealed) else { return }
        if let deviceID {
            let standing = try await withRecords(request) { try await sessions.standing(of: sealed, on: deviceID) }
            if case .reused = standing { _ = try await judge(standing, sealed, on: deviceID, request) }
        }
        throw .credentialsRefused(.tokenRefresh, reason: .account(.otherDevice))
    }

    fileprivate func isDevice(_ deviceID: String?, of sealed: SealedRefreshToken) -> Bool {
        guard let bound = sealed.deviceID else { return true }
        guard let deviceID else { return !settings.requiresDevice }
        return BoundDevice.isSame(deviceID, as: bound)
    }
}
