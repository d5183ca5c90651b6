import Foundation
import GatehouseClient

extension FakeGateway {
    func login(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        if let factor = request.text("factor") {
            try Self.require(["email"], request)
            return try passwordless(factor, request, &state)
        }
        try Self.require(["email", "password"], request)
        guard let id = state.userID(request.text("email")), let user = state.users[id],
            user.password == request.text("password")
        else { throw FakeRefusal.badCredentials }
        guard user.isConfirmed else {
            throw FakeRefusal(403, "UserNotConfirmedException", "The account is not confirmed yet.")
        }
        if user.asksForAuthenticator {
            let session = Self.secret(state.next())
            state.challenges[session] = id
            return .ok(
                ["challenge": "SOFTWARE_TOKEN_MFA", "session": .string(session), "parameters": .object([:])],
                status: 202)
        }
        return begin(user, request, &state)
    }

    func challenge(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        if let factor = request.text("challenge"), ["EMAIL_OTP", "WEB_AUTHN"].contains(factor) {
            return try passwordlessAnswer(factor, request, &state)
        }
        try Self.require(["challenge", "code", "session"], request)
        guard let session = request.text("session"), let id = state.challenges[session],
            let user = state.users[id], let secret = user.authenticator?.secret
        else { throw FakeRefusal.signInEnded }
        let code = request.text("code")
        guard code == authenticatorCode(for: secret), code != user.lastAuthenticatorCode else {
            throw FakeRefusal.wrongFactor
        }
        state.challenges[session] = nil
        state.users[id]?.lastAuthenticatorCode = code
        return begin(user, request, &state)
    }

    /// The code that an authenticator app with this key shows now. It is the fake's own, not that of RFC 6238.
    public func authenticatorCode(for secret: String) -> String {
        Self.digits("\(secret) \(Int(clock.now.timeIntervalSince1970) / 30)")
    }

    func begin(_ user: FakeUser, _ request: FakeRequest, _ state: inout FakeState) -> FakeReply {
        let session = newSession(user, request, &state, isApple: false)
        let refreshToken = Self.secret(state.next())
        state.refreshTokens[refreshToken] = FakeToken(sessionID: session.id, generation: 0, endsAt: session.endsAt)
        state.sessions[session.id]?.newest = refreshToken
        var members = tokens(session.id, refreshToken, &state)
        members["user"] = user.json
        return .ok(members)
    }

    func newSession(
        _ user: FakeUser, _ request: FakeRequest, _ state: inout FakeState, isApple: Bool
    ) -> FakeSession {
        let session = FakeSession(
            id: Self.identifier(state.next()), userID: user.id, isApple: isApple,
            device: request.body["device_info"] ?? .object([:]), signedInAt: clock.now, lastUsedAt: clock.now,
            refreshedAt: clock.now, endsAt: clock.now + sessionLifetime, newest: "")
        state.sessions[session.id] = session
        return session
    }

    private func tokens(_ sessionID: String, _ refreshToken: String, _ state: inout FakeState) -> [String: JSONValue] {
        let access = Self.accessToken(state.next(), endsAt: clock.now + accessTokenLifetime)
        state.accessTokens[access] = FakeToken(
            sessionID: sessionID, generation: 0, endsAt: clock.now + accessTokenLifetime)
        return [
            "access_token": .string(access), "refresh_token": .string(refreshToken), "token_type": "Bearer",
            "expires_in": .number(accessTokenLifetime), "scope": "aws.cognito.signin.user.admin",
        ]
    }

    /// In the form of a JWT, whose signature is none.
    static func accessToken(_ number: Int, endsAt: Date) -> String {
        let claims = "{\"exp\":\(Int(endsAt.timeIntervalSince1970)),\"jti\":\"\(identifier(number))\"}"
        return [#"{"alg":"none"}"#, claims, "not signed"].map { part in
            Data(part.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }.joined(separator: ".")
    }

    /// Each token is exchanged once. Its parent gets the same successor until that is used; older ones end the session.
    func refresh(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        try Self.require(["refresh_token"], request)
        guard let shown = state.refreshTokens[request.text("refresh_token") ?? ""] else {
            throw FakeRefusal.sessionEnded
        }
        let session = try advanced(shown, request.deviceID, &state) { state in
            let successor = Self.secret(state.next())
            state.refreshTokens[successor] = FakeToken(
                sessionID: shown.sessionID, generation: shown.generation + 1, endsAt: shown.endsAt)
            return successor
        }
        return .ok(tokens(session.id, session.newest, &state))
    }

    /// - Parameter successor: makes the next token.
    func advanced(
        _ shown: FakeToken, _ deviceID: String?, _ state: inout FakeState,
        successor: (inout FakeState) -> String
    ) throws -> FakeSession {
        guard var session = state.sessions[shown.sessionID], !session.isEnded, session.endsAt > clock.now,
            state.users[session.userID] != nil
        else { throw FakeRefusal.sessionEnded }
        // Bound to the device of the sign-in.
        if let bound = session.deviceID, let deviceID, bound != deviceID {
            // With a token that was replaced it is reuse.
            if shown.generation < session.generation { state.sessions[session.id]?.isEnded = true }
            throw FakeRefusal.sessionEnded
        }
        session.lastUsedAt = clock.now
        switch shown.generation {
        case session.generation:
            session.newest = successor(&state)
            session.generation += 1
            session.refreshedAt = clock.now
        case session.generation - 1: break
        default:
            state.sessions[session.id]?.isEnded = true
            throw FakeRefusal.sessionEnded
        }
        state.sessions[session.id] = session
        return session
    }

    func logout(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        let own = try request.bearer == nil ? nil : caller(request, &state)
        let shown = request.text("refresh_token")
        guard own != nil || shown != nil else { throw FakeRefusal.tokenMissing }
        let token = shown.flatMap { state.refreshTokens[$0] }
        let named = token.flatMap { state.sessions[$0.sessionID] }
        let isEverywhere = request.body["all_devices"] == .bool(true)
        if isEverywhere, own == nil {
            guard let token, let named, token.endsAt > clock.now else { throw FakeRefusal.sessionEnded }
            // A user who signs out everywhere once more is signed out.
            if named.isEnded, state.openSessions(of: named.userID, at: clock.now).isEmpty { return .done }
            try checkMayEndOthers(token, of: named, &state)
        }
        guard let session = own ?? named else { return .done }
        if isEverywhere {
            state.end(userID: session.userID)
        } else {
            state.sessions[session.id]?.isEnded = true
            if let named, named.userID == session.userID { state.sessions[named.id]?.isEnded = true }
        }
        return .done
    }

    /// Over others only the newest token of a session has a say, or the one before for a minute. Any other is reuse.
    func checkMayEndOthers(_ shown: FakeToken, of session: FakeSession, _ state: inout FakeState) throws {
        let isParent = shown.generation == session.generation - 1 && clock.now <= session.refreshedAt + 60
        guard !session.isEnded, isParent || shown.generation == session.generation else {
            state.sessions[session.id]?.isEnded = true
            throw FakeRefusal.sessionEnded
        }
    }

    static func require(_ names: [String], _ request: FakeRequest) throws {
        let missing = names.filter { (request.text($0) ?? "").isEmpty }
        guard missing.isEmpty else {
            throw FakeRefusal.invalid(Dictionary(uniqueKeysWithValues: missing.map { ($0, "is required") }))
        }
    }
}
