internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

extension AccountOperation {
    package static let oauthToken = hosted("oauth-token", .post, "token")
}

/// `POST oauth/token`: exchanges a code for tokens, in the response of `login`. The body is a form (RFC 6749), or JSON
/// with the same names.
struct OAuthTokenEndpoint: AccountEndpoint {
    static let operation = AccountOperation.oauthToken

    private let code: Secret
    private let redirectURI: String
    private let verifier: Secret
    private let device: DeviceInfo?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        _ = try accounts.requireHosted()
        var fields = RequestFields(try request.oauthObject())
        let grantType = fields.requiredText("grant_type", atMost: 128)
        let unknownClient = Refusal(
            .invalidParameter, message: "The client_id is not known here.", reason: .account(.oauthClient))
        // Every other refresh was turned into a request for `refresh`.
        if grantType.hasSameBytes(as: "refresh_token") { throw unknownClient }
        if fields.errors.isEmpty, !grantType.hasSameBytes(as: "authorization_code") {
            throw Refusal(
                .invalidParameter, message: "The grant_type must be authorization_code or refresh_token.",
                reason: .account(.oauthGrantType))
        }
        let clientID = fields.requiredText("client_id", atMost: 128)
        code = Secret(fields.requiredText("code", atMost: 128))
        redirectURI = fields.requiredText("redirect_uri", atMost: 1024)
        verifier = Secret(fields.requiredText("code_verifier", atMost: 128))
        device = fields.device()
        try fields.check()
        guard clientID.hasSameBytes(as: accounts.settings.clientID) else { throw unknownClient }
        (call.device, call.method) = (device, .federated)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let (codes, hash) = (try accounts.requireHosted().codes, SHA256.hash(code.expose()))
        func state() async throws(Refusal) -> AuthorizationCodeState {
            let (now, poolID) = (accounts.now(), accounts.settings.poolID)
            return try await accounts.withRecords(request) { try await codes.state(of: hash, poolID: poolID, now: now) }
        }
        switch try await state() {
        case .unknown: throw Self.invalid(.invalidAuthorizationCode)
        case .used(let family): throw try await accounts.endSession(family, request)
        case .open(let sealed, let family):
            do {
                let signIn = try await proven(sealed, hash, accounts, request)
                admission.call.account = signIn.account
                return try await accounts.signedIn(
                    signIn.result,
                    SignInContext(
                        account: signIn.account, rememberMe: true, device: device, deviceID: device?.deviceID,
                        code: SignInContext.RedeemedCode(hash: hash, family: family)),
                    request)
            } catch {
                // Another caller may have used the code since it was looked up.
                guard error.reason == .account(.authorizationCodeReused), case .used(let family) = try await state()
                else { throw error }
                throw try await accounts.endSession(family, request)
            }
        }
    }

    /// Returns one refusal for every error in a code.
    static func invalid(_ reason: AccountError) -> Refusal {
        Refusal(.notAuthorized, message: "The code is not valid. Sign in again.", reason: .account(reason))
    }

    /// Returns the result of the code's sign-in, if the app has proven that it began the sign-in. A wrong proof, or
    /// another app client of the pool, uses up the code.
    private func proven(
        _ text: [UInt8], _ hash: [UInt8], _ accounts: CognitoAccounts, _ request: AccountRequest
    ) async throws(Refusal) -> (result: AuthenticationResult, account: String) {
        let (settings, now) = (accounts.settings, accounts.now())
        guard
            let stored = try? SealedCodeResult(
                opening: text, with: accounts.sealingKeys, poolID: settings.poolID)
        else { throw Self.invalid(.invalidAuthorizationCode) }
        let result = AuthenticationResult(
            accessToken: stored.accessToken, idToken: stored.idToken, refreshToken: stored.refreshToken,
            expiresIn: max(0, stored.accessExpiresAt - now))
        guard stored.clientID.hasSameBytes(as: settings.clientID), stored.redirectURI.hasSameBytes(as: redirectURI),
            isProof(of: stored.codeChallenge), let access = result.accessClaims,
            let user = AccountUser(accessClaims: access, idClaims: result.idClaims)
        else {
            let codes = try accounts.requireHosted().codes
            let isOurs = try await accounts.withRecords(request) {
                try await codes.use(hash, poolID: settings.poolID, now: now)
            }
            guard isOurs else { throw Self.invalid(.authorizationCodeReused) }
            await accounts.giveUp(result, of: stored.clientID, request)
            throw Self.invalid(.invalidAuthorizationCode)
        }
        // An unverified address may be another user's.
        return (result, user.emailVerified ? user.email ?? user.username : user.username)
    }

    /// Checks the code verifier (RFC 7636, 4.1 and 4.6).
    private func isProof(of challenge: String) -> Bool {
        let text = verifier.exposeText()
        guard (43...128).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-._~".utf8.contains($0) })
        else { return false }
        return constantTimeEquals(Array(SHA256.codeChallenge(of: text).utf8), Array(challenge.utf8))
    }
}

extension OAuthTokenEndpoint {
    /// The request to `refresh` that a request with `grant_type=refresh_token` stands for; nil for any other, and for one
    /// that names an unknown client. A request need not name its client (RFC 6749, 6).
    static func asRefresh(_ request: AccountRequest, _ accounts: CognitoAccounts) -> AccountRequest? {
        guard var object = try? request.oauthObject(),
            (object["grant_type"]?.stringValue).hasSameBytes(as: "refresh_token")
        else { return nil }
        if let clientID = object["client_id"]?.stringValue {
            guard accounts.tokenClient(clientID) != nil else { return nil }
            // At `refresh` it names the client of a token of Cognito's own, which is another one.
            let takenOver = accounts.settings.sessionTakeover?.clientIDs ?? []
            if !clientID.isOne(of: takenOver) { object["client_id"] = nil }
        }
        var refresh = request
        refresh.operation = .refresh
        refresh.contentType = "application/json"
        refresh.body = JSON.object(object).encoded()
        return refresh
    }
}

extension AccountRequest {
    /// Reads the members of the body, a form or JSON.
    fileprivate func oauthObject() throws(Refusal) -> JSONObject {
        let type = contentType.map { String(Substring($0.utf8.prefix { $0 != UInt8(ascii: ";") })).asciiLowercased }
        guard let type, type.begins(with: "application/x-www-form-urlencoded") else { return try jsonObject() }
        guard body.count <= Self.maximumBodyBytes else {
            throw Refusal(.payloadTooLarge, reason: .request(.bodyTooLarge))
        }
        let names = ["grant_type", "client_id", "code", "redirect_uri", "code_verifier", "refresh_token"]
        do {
            guard let text = String(validating: body, as: UTF8.self) else { throw OAuthParameterError() }
            let parameters = OAuthParameters(text)
            var object = try parameters.object(names)
            // A form contains no objects: the device is JSON text.
            if let device = try parameters.value("device_info", atMost: 4096) {
                object["device_info"] = try JSON.parse(Array(device.utf8))
            }
            return object
        } catch {
            throw Refusal(
                .invalidParameter, message: "A parameter is given twice, or cannot be read.",
                reason: .account(.oauthParameters))
        }
    }
}

extension CognitoAccounts {
    /// Ends the session that began with a code which is used again (RFC 6749, 4.1.2 and 10.5). The session may belong
    /// to another app client of the pool.
    ///
    /// - Returns: the refusal for the caller.
    fileprivate func endSession(_ family: [UInt8], _ request: AccountRequest) async throws(Refusal) -> Refusal {
        try await UnawaitedReuse.refuse(requestID: request.requestID, logger)
        let ended = try await withRecords(request) { try await sessions.end(family: family, originIDs: []) }
        logger.warning(
            "an authorization code was used again: its session has been ended",
            metadata: ["request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)"])
        let origins = Set(ended.compactMap(\.originID))
        let targets = targets(for: origins, of: ended.first?.subject, signedInUntil: ended.first?.signedInAt)
        try await both { () async throws(Refusal) in
            try await revoke(targets, request)
        } then: { () async throws(Refusal) in
            for session in ended {
                try await revokeAtCognito(session.refreshToken, of: session.clientID, request)
            }
        }
        return OAuthTokenEndpoint.invalid(.authorizationCodeReused)
    }
}
