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

/// `POST apple`: a sign-in by Apple's identity token.
struct AppleSignInEndpoint: AccountEndpoint {
    static let operation = AccountOperation.appleSignIn

    /// Nil for a call that names a user and proves nothing, where a backend takes such.
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
    /// The user's name from the app. Apple's tokens never contain it, and apps learn it at the first sign-in only.
    var name: String?
    var userIdentifier: String?
    var authorizationCode: Secret?
    var device: DeviceInfo?

    /// The e-mail address that the app names is checked for its form and then left alone: only Apple's word counts.
    ///
    /// - Parameter tokenLimit: the most bytes of an identity token that are looked at.
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

    /// The name without outer white space; nil if nothing is left.
    static func trimmed(_ name: String?) -> String? {
        guard let scalars = name?.unicodeScalars else { return nil }
        let front = scalars.drop { $0.properties.isWhitespace }
        let blanks = front.reversed().prefix { $0.properties.isWhitespace }.count
        let text = String(String.UnicodeScalarView(front.dropLast(blanks)))
        return text.isEmpty ? nil : text
    }
}

extension AppleSignIn {
    /// The end of a sign-in where the gateway keeps the users: identity token and nonce are used up, the user is found
    /// or made, and the session begins, all in one transaction. The authorization code is exchanged before: a fault of
    /// the gateway's that shows in it takes nothing from the user, who may try the same again.
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
            // Apple's notification may have come meanwhile, and has not found this session.
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

    /// The user has withdrawn the consent, or is gone, since Apple issued the identity token.
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

    /// Apple has given something for a sign-in that came to nothing: where that was the gateway's fault, it is there
    /// when the same is tried again; else a user who is known keeps it, so that the consent can be taken back one day.
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

    /// Apple is not asked about what is shown again.
    private func refuseUsed(_ proof: UserSignIn.Proof, _ request: AccountRequest) async throws(Refusal) {
        if try await withRecords(request, { try await spent.isSpent(proof.digest) }) {
            throw AppleSignInError.identityTokenReused.refusal
        }
    }

    /// The end of a sign-in where a backend keeps the users. Identity token and nonce are used up, and the backend gets
    /// the request with the verified identity. If the backend does not answer, the user must sign in with a new
    /// identity token.
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
