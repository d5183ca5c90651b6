import Foundation
public import GatehouseClient

extension FakeGateway {
    /// The result of the system's dialogue for Sign in with Apple. The user is made at the first sign-in.
    ///
    /// - Parameter hashedNonce: the `nonce` of the request to Apple.
    public func appleCredential(email: String, name: String? = nil, hashedNonce: String) -> AppleCredential {
        locked { state in
            let known = state.users.values.first { $0.password.isEmpty && $0.email == email }
            let id = known?.id ?? Self.identifier(state.next())
            if known == nil { state.users[id] = FakeUser(id: id, email: email) }
            let token = Self.accessToken(state.next(), endsAt: clock.now + 600)
            state.appleCredentials[token] = (id, hashedNonce)
            return AppleCredential(
                identityToken: token, authorizationCode: Self.secret(state.next()), userIdentifier: id, name: name)
        }
    }

    func appleSignIn(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        try Self.require(["identity_token", "nonce"], request)
        // Each identity token counts once.
        guard let token = request.text("identity_token"), let nonce = request.text("nonce"),
            let credential = state.appleCredentials.removeValue(forKey: token),
            credential.hashedNonce == AppleNonce(raw: nonce).hashed, var user = state.users[credential.userID],
            request.text("userIdentifier") ?? user.id == user.id
        else {
            throw FakeRefusal(
                401, "NotAuthorizedException", "The sign-in with Apple could not be verified.", challenge: "Bearer")
        }
        state.nonces.remove(nonce)
        user.name = user.name ?? request.text("name")
        state.users[user.id] = user
        let session = newSession(user, request, &state, isApple: true)
        let first = sessionToken(session.id, 0, &state)
        state.sessions[session.id]?.newest = first
        return .ok(["success": true, "token": .string(first), "user": user.sessionJSON])
    }

    private func sessionToken(_ sessionID: String, _ generation: Int, _ state: inout FakeState) -> String {
        let endsAt = clock.now + sessionTokenLifetime
        let token = Self.accessToken(state.next(), endsAt: endsAt)
        state.accessTokens[token] = FakeToken(sessionID: sessionID, generation: generation, endsAt: endsAt)
        return token
    }

    /// Seconds after a token's end in which it is exchanged all the same.
    private static let refreshWithin: TimeInterval = 7 * 24 * 3600

    private static var ended: FakeRefusal {
        var ended = FakeRefusal.sessionEnded
        ended.challenge = FakeRefusal.invalidToken
        return ended
    }

    func refreshSession(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        guard let bearer = request.bearer else { throw FakeRefusal.tokenMissing }
        guard let shown = state.accessTokens[bearer], state.sessions[shown.sessionID]?.isApple == true else {
            throw FakeRefusal.tokenRefused
        }
        guard shown.endsAt + Self.refreshWithin > clock.now else { throw Self.ended }
        do {
            let session = try advanced(shown, request.deviceID, &state) { state in
                sessionToken(shown.sessionID, shown.generation + 1, &state)
            }
            return .ok(["success": true, "token": .string(session.newest)])
        } catch is FakeRefusal { throw Self.ended }
    }

    func endSession(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        guard let bearer = request.bearer else { throw FakeRefusal.tokenMissing }
        guard let shown = state.accessTokens[bearer], let session = state.sessions[shown.sessionID] else {
            throw FakeRefusal.tokenRefused
        }
        guard !session.isEnded, shown.endsAt + Self.refreshWithin > clock.now else { return .done }
        if request.body["all_devices"] == .bool(true) {
            do { try checkMayEndOthers(shown, of: session, &state) } catch is FakeRefusal { throw Self.ended }
            state.end(userID: session.userID)
        } else {
            state.sessions[session.id]?.isEnded = true
        }
        return .done
    }
}
