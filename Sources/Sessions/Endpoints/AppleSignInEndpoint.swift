package import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    package static let appleSignIn = AccountOperation(
        "apple-sign-in", .post, "apple", budget: .signIn, metricsName: "login")
}

/// `POST apple`: a sign-in with Apple's identity token.
struct AppleSignInEndpoint: AccountEndpoint {
    static let operation = AccountOperation.appleSignIn

    /// Nil for a call that names a user without proof, if a backend accepts such calls.
    private let body: AppleSignInBody?

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        call.method = .apple
        let object = try request.jsonObject()
        let settings = endpoints.apple.settings
        guard !(settings.forwardsLegacy && Self.isLegacy(object)) else {
            body = nil
            return
        }
        let body = try AppleSignInBody(object, tokenLimit: endpoints.apple.maximumTokenBytes)
        call.device = body.device
        self.body = body
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        guard let body else { return AccountAnswer(forwarding: .unverified) }
        let apple = endpoints.apple
        let proven = try await apple.prove(body, &admission.call)
        guard apple.settings.mode == .terminate else { return try await apple.forward(proven, request) }
        return try await apple.signIn(body, proven, endpoints.ownSessions(), request)
    }

    private static func isLegacy(_ object: JSONObject) -> Bool {
        (object["identity_token"] ?? .null) == .null && object["userIdentifier"]?.stringValue?.isEmpty == false
    }
}

/// The body of `POST apple`.
struct AppleSignInBody: Sendable {
    var identityToken: Secret
    var nonce: Secret
    /// The user's name, from the app. Apple's tokens never contain it, and apps receive it only at the first sign-in.
    var name: String?
    var userIdentifier: String?
    var authorizationCode: Secret?
    var device: DeviceInfo?

    /// The e-mail address from the app is only checked for its form: the one in Apple's token is used.
    ///
    /// - Parameter tokenLimit: the maximum size of an identity token in bytes.
    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject, tokenLimit: Int = TokenVerifier.defaultMaximumTokenBytes) throws(Refusal) {
        var fields = RequestFields(object)
        identityToken = Secret(fields.requiredText("identity_token", atMost: tokenLimit, .address))
        nonce = Secret(fields.requiredText("nonce", atMost: 512, .address))
        _ = fields.optionalText("email", atMost: 320)
        name = Self.trimmed(fields.optionalText("name", atMost: 256, .name))
        userIdentifier = fields.optionalText("userIdentifier", atMost: 255)
        authorizationCode = fields.optionalText("authorization_code", atMost: 2048, .address).map { Secret($0) }
        device = fields.device()
        try fields.check()
        if authorizationCode?.isEmpty == true { authorizationCode = nil }
    }

    /// The name without leading and trailing white space; nil if it is empty.
    static func trimmed(_ name: String?) -> String? {
        guard let scalars = name?.unicodeScalars else { return nil }
        let front = scalars.drop { $0.properties.isWhitespace }
        let blanks = front.reversed().prefix { $0.properties.isWhitespace }.count
        let text = String(String.UnicodeScalarView(front.dropLast(blanks)))
        return text.isEmpty ? nil : text
    }
}

extension AppleSignIn {
    /// Completes a sign-in if the gateway stores the users: identity token and nonce are used up, the user is found or
    /// created, and the session begins, all in one transaction. The authorization code is exchanged first: if that
    /// fails because of the gateway, the user can retry with the same token.
    func signIn(
        _ body: AppleSignInBody, _ proven: Proven, _ sessions: UserSessions, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        let identity = proven.identity
        guard !sessions.refuses(identityToken: proven.token) else { throw Self.ended }
        var refreshToken: Secret?
        if let code = body.authorizationCode, let grants {
            try await refuseUsed(proven.proof, request)
            refreshToken = try await grants.exchange(
                code, of: identity, proof: proven.proof.digest, requestID: request.requestID)
        }
        do throws(Refusal) {
            var signIn = signIn(of: identity, proven.proof, body)
            if let refreshToken, let grants {
                signIn.appleToken = { userID in
                    grants.record(
                        of: refreshToken, userID: userID, clientID: identity.audience, requestID: request.requestID)
                }
            }
            let begun = try await sessions.begin(signIn, requestID: request.requestID)
            // Apple's notification may have arrived meanwhile and not found this session.
            guard !sessions.refuses(identityToken: proven.token) else {
                await sessions.takeBack(begun, requestID: request.requestID)
                throw Self.ended
            }
            var answer = AccountAnswer.showing(
                settings.shown(begun.user), subject: begun.user.id, outcome: .signedIn(begun.user.account)
            ) { user in
                ["success": true, "token": .string(begun.token.exposeText()), "user": .object(user)]
            }
            answer.sessionEnd = { await sessions.takeBack(begun, requestID: request.requestID) }
            return answer
        } catch {
            if let refreshToken { await keepAnyway(refreshToken, proven, after: error, sessions, request) }
            throw error.error == .notAuthorized ? AppleSignInError.refusal(reason: error.reason) : error
        }
    }

    /// The user has withdrawn the consent, or was deleted, since Apple issued the identity token.
    private static var ended: Refusal { AppleSignInError.refusal(reason: .token(.revoked)) }

    private func signIn(
        of identity: AppleIdentity, _ proof: UserSignIn.Proof, _ body: AppleSignInBody
    ) -> UserSessions.SignIn {
        UserSessions.SignIn(
            proof: proof,
            user: UserRecord(
                id: "", issuer: identity.issuer, subject: identity.subject, name: body.name, email: identity.email,
                emailVerified: identity.email != nil, isPrivateEmail: identity.isPrivateEmail ?? false,
                emailAsOf: identity.email == nil ? 0 : min(identity.issuedAt, now()), role: identity.role, createdAt: 0),
            device: body.device, authTime: identity.issuedAt, roleConflict: settings.roleConflict)
    }

    /// Keeps Apple's token of a failed sign-in. If the failure was the gateway's, the token is held for a retry;
    /// otherwise it is stored for a known user, so that the consent can be withdrawn later.
    private func keepAnyway(
        _ refreshToken: Secret, _ proven: Proven, after refusal: Refusal, _ sessions: UserSessions,
        _ request: AccountRequest
    ) async {
        let identity = proven.identity
        guard refusal.error.status.kind != .serverError else {
            await grants?.hold(
                refreshToken, for: proven.proof.digest, until: identity.issuedAt + settings.maximumTokenAge,
                requestID: request.requestID)
            return
        }
        let user = try? await sessions.withRecords(request.requestID) {
            try await sessions.users.user(issuer: identity.issuer, subject: identity.subject)
        }
        guard let user = user ?? nil else { return }
        await grants?.keep(refreshToken, of: user, clientID: identity.audience, requestID: request.requestID)
    }

    /// Rejects a used token before Apple is called.
    private func refuseUsed(_ proof: UserSignIn.Proof, _ request: AccountRequest) async throws(Refusal) {
        if try await withRecords(request, { try await spent.isSpent(proof.digest) }) {
            throw AppleSignInError.identityTokenReused.refusal
        }
    }

    /// Completes a sign-in if a backend stores the users. Identity token and nonce are used up, and the backend
    /// receives the request with the verified identity. If the backend does not respond, the user must sign in with a
    /// new identity token.
    func forward(_ proven: Proven, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        let step = try await withRecords(request) { try await spent.spend(proven.proof, now: now()) }
        switch step {
        case .spent: break
        case .replayed: throw AppleSignInError.identityTokenReused.refusal
        case .nonceReused: throw AppleSignInError.nonceReused.refusal
        }
        var token = proven.token
        token.groups = [proven.identity.role].compactMap { $0 }
        return AccountAnswer(forwarding: .verified(token))
    }
}
