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

/// `POST refresh`: exchanges what is in the token. Everyone who comes with one token at a time gets one answer.
/// Whatever is wrong with the token, the client gets the same answer; the access log has the reason.
struct RefreshEndpoint: AccountEndpoint {
    static let operation = AccountOperation.refresh

    private enum Shown: Sendable {
        case sealed(SealedRefreshToken)
        /// One of Cognito's own, which is to become a sealed one.
        case foreign(ShownRefreshToken)
    }

    private let refreshToken: Secret
    private let shown: Shown
    /// The device that shows it, as it says itself.
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
        // One token is exchanged once: the metadata of the request that does it count. The device counts for
        // tokens that are given once more.
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

    /// A token that was shown before is of a session by now, which may be bound to a device.
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
    /// Nil for a text that does not open.
    ///
    /// - Throws: 503 for one that another gateway may have sealed, with a key that this one could not read yet.
    func sealedToken(in text: Secret) throws(Refusal) -> SealedRefreshToken? {
        do {
            return try SealedRefreshToken(opening: text, with: sealingKeys, poolID: settings.poolID)
        } catch {
            try sealingKeys.requireKey(of: text)
            return nil
        }
    }

    /// - Parameter clientID: as the app names it; nil: it names none.
    /// - Throws: 401 where no such tokens are taken over.
    fileprivate func foreignToken(in text: Secret, of clientID: String?) throws(Refusal) -> ShownRefreshToken {
        guard let takeover = settings.sessionTakeover, var foreign = ShownRefreshToken(text),
            clientID?.isOne(of: takeover.clientIDs) != false
        else { throw .credentialsRefused(.tokenRefresh, reason: .account(.invalidRefreshToken)) }
        foreign.clientID = clientID
        return foreign
    }

    /// - Throws: 401 for another device than the session's. A token that was exchanged before is reuse there: whoever has
    ///   it has not got it with the session.
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
