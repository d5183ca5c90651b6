package import Accounts
package import Encoding
internal import HTTPTypes
package import Pipeline
package import Store

/// A further place with data about users, besides the users' records.
package protocol UserCompanion: Sendable {
    /// Called before a user is deleted, while all of their data is still there. Messages to others about it must be
    /// stored durably when this returns.
    ///
    /// - Throws: what keeps the user from being deleted.
    func willDelete(_ user: UserRecord) async throws

    /// The data about the user, for `GET me/export`: members to add to the response.
    func held(of user: UserRecord) async throws -> JSONObject
}

/// The endpoints of sign-in with Apple and of the gateway's own sessions.
package struct SessionEndpoints: Sendable {
    /// The name of these users' realm for audit, limits and backends: the `iss` of the sessions, or Apple's if no
    /// sessions are kept.
    let name: String
    /// Nil where a backend keeps users and sessions.
    package let sessions: UserSessions?
    /// Apple's part.
    package let apple: AppleSignIn
    let companions: [any UserCompanion]
    let observers: [any AccountObserver]

    package init(
        name: String, sessions: UserSessions?, apple: AppleSignIn, companions: [any UserCompanion] = [],
        observers: [any AccountObserver] = []
    ) {
        self.name = name
        self.sessions = sessions
        self.apple = apple
        self.companions = [apple.grants].compactMap { $0 } + companions
        self.observers = observers
    }

    /// The task that asks Apple about consents; nil if there are none to ask about.
    package var grantValidation: AppleGrantValidation? {
        guard let grants = apple.grants, let sessions else { return nil }
        return AppleGrantValidation(grants, sessions)
    }

    /// Answers a request. Never fails: every failure is an answer with the API's error body.
    package func answer(_ request: SessionRequest) async -> AccountAnswer {
        do {
            return try await carryOut(request)
        } catch {
            var refusal = error
            refusal.deniesSuccess = true
            return AccountAnswer(refusal: refusal, requestID: request.requestID)
        }
    }

    /// The one way of every call: read, admitted, done, told.
    private func carryOut(_ request: SessionRequest) async throws(Refusal) -> AccountAnswer {
        var call = AccountCall(request, issuer: name)
        let answer: AccountAnswer
        do throws(Refusal) {
            let task: PreparedCall
            do throws(Refusal) {
                task = try prepare(request, &call)
            } catch {
                // Whoever shows a token that is none may be trying some out, and a malformed request costs about as much
                // as another one: both count as calls.
                for observer in observers { try await observer.admit(call) }
                throw error
            }
            for observer in observers { try await observer.admit(call) }
            answer = try await perform(task, request, &call)
        } catch {
            if error.error == .tokenRefresh { call.session = sessions?.called(by: request.bearer) }
            for observer in observers {
                // The refusal stands, whatever an observer throws.
                try? await observer.ended(call, .refused(error.error, reason: error.reason))
            }
            throw error
        }
        call.subject = answer.subject ?? call.subject
        try await observers.tell(call, of: answer)
        return answer
    }

    /// A call whose body was read and whose session was judged.
    private enum PreparedCall {
        case apple(AppleSignIn.PreparedCall)
        case validate(VerifiedToken)
        case refresh(SessionCaller)
        case logout(SessionCaller?, everywhere: Bool)
        case deleteMe(SessionCaller)
        case export(SessionCaller)
    }

    private func prepare(_ request: SessionRequest, _ call: inout AccountCall) throws(Refusal) -> PreparedCall {
        switch request.operation {
        case .nonce, .apple, .notifications:
            return .apple(try apple.prepare(request, &call))
        case .validate:
            return .validate(try verified(request))
        case .refresh:
            let caller = try kept().judge(request.bearer)
            call.subject = caller.userID
            return .refresh(caller)
        case .logout:
            let body = try SessionLogoutBody(request.body.isEmpty ? [:] : request.jsonObject())
            let caller = try kept().judgeLeaving(request.bearer)
            call.subject = caller?.userID
            call.session = caller?.session
            return .logout(caller, everywhere: body.allDevices)
        case .deleteMe:
            let caller = try SessionCaller(try verified(request))
            call.session = caller.session
            return .deleteMe(caller)
        case .export: return .export(try SessionCaller(try verified(request)))
        }
    }

    private func perform(
        _ task: PreparedCall, _ request: SessionRequest, _ call: inout AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        switch task {
        case .apple(let task): return try await apple.perform(task, self, request, &call)
        case .validate(let token): return Self.validation(of: token)
        case .refresh(let caller): return try await refresh(caller, request)
        case .logout(let caller, let everywhere): return try await logout(caller, everywhere: everywhere, request)
        case .deleteMe(let caller): return try await deleteMe(caller, request)
        case .export(let caller): return try await export(caller, request)
        }
    }

    /// The sessions. No route leads here where there are none.
    func kept() throws(Refusal) -> UserSessions {
        guard let sessions else { throw .notFound() }
        return sessions
    }

    /// The session that the pipeline has verified. The route's rules let no other issuer's token come here.
    private func verified(_ request: SessionRequest) throws(Refusal) -> VerifiedToken {
        guard let token = request.identity else { throw .tokenMissing() }
        guard token.issuer.hasSameBytes(as: try kept().settings.issuer.issuer), token.tokenUse == .session else {
            throw .tokenInvalid(reason: .account(.notASession))
        }
        return token
    }

    /// `POST validate`: what a token that was verified says. It asks nobody, so that it can be answered at once: who has
    /// been revoked has not come as far as here.
    package static func validation(of token: VerifiedToken) -> AccountAnswer {
        AccountAnswer(
            .ok, ["success": true, "user": .object(SessionUser.object(of: token))], subject: token.subject)
    }
}

/// The body of `POST logout`.
struct SessionLogoutBody: Sendable {
    var allDevices: Bool

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        allDevices = fields.flag("all_devices", default: false)
        try fields.check()
    }
}
