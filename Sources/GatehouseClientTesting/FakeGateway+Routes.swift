import Foundation
import GatehouseClient

extension FakeGateway {
    private static let accounts = "/api/v1/auth/"
    private static let sessions = "/api/auth/"

    func route(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        if request.path == "/echo" {
            let session = try caller(request, &state)
            return .ok(["method": .string(request.method), "subject": .string(session.userID)])
        }
        if request.path.hasPrefix(Self.accounts) {
            return try account(String(request.path.dropFirst(Self.accounts.count)), request, &state)
        }
        if request.path.hasPrefix(Self.sessions) {
            return try appleCall(String(request.path.dropFirst(Self.sessions.count)), request, &state)
        }
        throw FakeRefusal.notFound
    }

    private func account(_ call: String, _ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        switch (request.method, call) {
        case ("POST", "login"): return try login(request, &state)
        case ("POST", "challenge"): return try challenge(request, &state)
        case ("POST", "refresh"): return try refresh(request, &state)
        case ("POST", "logout"): return try logout(request, &state)
        case ("POST", "register"): return try register(request, &state)
        case ("POST", "confirm"): return try confirm(request, &state)
        case ("POST", "resend-code"), ("POST", "forgot-password"):
            return try sendCode(request, &state, isForPassword: call == "forgot-password")
        case ("POST", "reset-password"): return try resetPassword(request, &state)
        default: return try own(call, request, &state, isApple: false)
        }
    }

    private func appleCall(_ call: String, _ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        switch (request.method, call) {
        case ("POST", "apple/nonce"):
            let nonce = Self.secret(state.next())
            state.nonces.insert(nonce)
            return .ok(["nonce": .string(nonce), "expires_in": .number(300)])
        case ("POST", "apple"): return try appleSignIn(request, &state)
        case ("POST", "refresh"): return try refreshSession(request, &state)
        case ("POST", "logout"): return try endSession(request, &state)
        default: return try own(call, request, &state, isApple: true)
        }
    }

    /// The calls that need an access token.
    private func own(
        _ call: String, _ request: FakeRequest, _ state: inout FakeState, isApple: Bool
    ) throws -> FakeReply {
        let session = try caller(request, &state)
        guard session.isApple == isApple else { throw FakeRefusal.tokenRefused }
        let id = session.userID
        switch (request.method, call) {
        case ("GET", "me"): return userReply(id, state, isApple)
        case ("POST", "validate") where isApple: return userReply(id, state, isApple)
        case ("PATCH", "me"):
            try update(id, request, &state, isApple)
            return userReply(id, state, isApple)
        case ("DELETE", "me"):
            state.end(userID: id)
            state.users[id] = nil
            return .done
        case ("GET", "me/export"): return export(session, state)
        case ("GET", "me/sessions"):
            var members: [String: JSONValue] = ["sessions": sessionList(session, state)]
            if isApple { members["success"] = true }
            return .ok(members)
        case ("DELETE", "me/sessions"):
            state.end(userID: id, but: session.id)
            return .done
        case ("DELETE", _) where call.hasPrefix("me/sessions/"):
            let ended = String(call.dropFirst("me/sessions/".count))
            guard state.sessions[ended]?.userID == id else { throw FakeRefusal.notFound }
            state.sessions[ended]?.isEnded = true
            return .done
        case ("POST", "change-password") where !isApple: return try changePassword(session, request, &state)
        case (_, _) where (call.hasPrefix("me/email") || call.hasPrefix("me/phone")) && !isApple:
            return try contact(call, id, request, &state)
        case (_, _) where call.hasPrefix("me/passkeys") && !isApple: return try passkeys(call, id, request, &state)
        case (_, "mfa") where !isApple, (_, "mfa/totp") where !isApple, (_, "mfa/totp/verify") where !isApple:
            return try secondFactor(call, id, request, &state)
        default: throw FakeRefusal.notFound
        }
    }

    /// The session of the request's access token.
    func caller(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeSession {
        guard let bearer = request.bearer else { throw FakeRefusal.tokenMissing }
        guard let token = state.accessTokens[bearer], let session = state.sessions[token.sessionID] else {
            throw FakeRefusal.tokenRefused
        }
        guard token.endsAt > clock.now else { throw FakeRefusal.tokenExpired }
        guard !session.isEnded, state.users[session.userID] != nil else { throw FakeRefusal.tokenRefused }
        return session
    }

    func userReply(_ id: String, _ state: FakeState, _ isApple: Bool) -> FakeReply {
        guard let user = state.users[id] else { return .done }
        return isApple ? .ok(["success": true, "user": user.sessionJSON]) : FakeReply(body: user.json)
    }

    static func identifier(_ number: Int) -> String {
        String(AppleNonce(raw: "identifier \(number) of a fake").hashed.prefix(32))
    }

    static func secret(_ number: Int) -> String { "v2.k1." + AppleNonce(raw: "secret \(number) of a fake").hashed }

    /// - Returns: six digits.
    static func digits(_ text: String) -> String {
        let number = AppleNonce(raw: text).hashed.utf8.prefix(12).reduce(0) { ($0 * 31 + Int($1)) % 1_000_000 }
        return String(String(1_000_000 + number).dropFirst())
    }

    /// An IMF-fixdate (RFC 9110, section 5.6.7).
    static func httpDate(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int?) -> String { String(String(100 + (number ?? 0)).dropFirst()) }
        return "\(days[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) "
            + "\(parts.year ?? 1970) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }

    /// In the form of RFC 3339.
    static func timestamp(_ date: Date) -> JSONValue { .string(ISO8601DateFormatter().string(from: date)) }
}
