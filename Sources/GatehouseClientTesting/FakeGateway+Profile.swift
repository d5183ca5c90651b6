import Foundation
import GatehouseClient

extension FakeGateway {
    /// The default of the setting `writable_attributes`.
    private static let writable: Set<String> = ["name", "given_name", "family_name", "locale", "zoneinfo"]

    func update(_ id: String, _ request: FakeRequest, _ state: inout FakeState, _ isApple: Bool) throws {
        guard var user = state.users[id] else { return }
        if let name = request.body["name"] { user.name = name.text }
        if isApple, let number = request.body["phoneNumber"] { user.phoneNumber = number.text }
        if case .object(let attributes)? = request.body["attributes"], !isApple {
            let refused = attributes.keys.filter { !Self.writable.contains($0) }
            guard refused.isEmpty else {
                throw FakeRefusal.invalid(
                    Dictionary(uniqueKeysWithValues: refused.map { ("attributes.\($0)", "cannot be set here") }))
            }
            for (name, value) in attributes { user.attributes[name] = value.text }
        }
        state.users[id] = user
    }

    func sessionList(_ session: FakeSession, _ state: FakeState) -> JSONValue {
        let all = state.openSessions(of: session.userID, at: clock.now)
        let sorted = all.sorted { ($0.id == session.id ? 0 : 1, $0.id) < ($1.id == session.id ? 0 : 1, $1.id) }
        return .array(
            sorted.map { each in
                var members: [String: JSONValue] = [
                    "id": .string(each.id), "current": .bool(each.id == session.id),
                    "signed_in_at": Self.timestamp(each.signedInAt), "last_used_at": Self.timestamp(each.lastUsedAt),
                    "ends_at": Self.timestamp(each.endsAt), "device_name": each.device["name"] ?? .null,
                ]
                for name in ["model", "platform", "os_version", "app_version"] {
                    members[name] = each.device[name] ?? .null
                }
                return .object(members)
            })
    }

    func export(_ session: FakeSession, _ state: FakeState) -> FakeReply {
        guard let user = state.users[session.userID] else { return .done }
        let sessions = state.sessions.values.filter { $0.userID == user.id }.sorted { $0.id < $1.id }
        var members: [String: JSONValue] = [
            "exported_at": Self.timestamp(clock.now), "user": session.isApple ? user.sessionJSON : user.json,
            "sessions": .array(
                sessions.map { each in
                    .object([
                        "signed_in_at": Self.timestamp(each.signedInAt),
                        "refreshed_at": Self.timestamp(each.lastUsedAt), "ends_at": Self.timestamp(each.endsAt),
                        "ended_at": each.isEnded ? Self.timestamp(clock.now) : .null,
                        "device_id": each.device["device_id"] ?? .null, "platform": each.device["platform"] ?? .null,
                    ])
                }),
        ]
        if session.isApple { members["success"] = true } else { members["devices"] = .array([]) }
        return .ok(members)
    }

    func secondFactor(
        _ call: String, _ id: String, _ request: FakeRequest, _ state: inout FakeState
    ) throws -> FakeReply {
        let name = JSONValue.string("SOFTWARE_TOKEN_MFA")
        switch (request.method, call) {
        case ("GET", "mfa"): break
        case ("PATCH", "mfa"):
            guard case .array(let enabled)? = request.body["enabled"] else { break }
            let asks = enabled.contains(name)
            guard !asks || state.users[id]?.authenticator?.isVerified == true else {
                throw FakeRefusal.invalid(["enabled": "has a factor that is not set up"])
            }
            state.users[id]?.asksForAuthenticator = asks
        case ("POST", "mfa/totp"):
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
            let bytes = Self.secret(state.next()).utf8.suffix(32)
            let secret = String(bytes.map { alphabet[Int($0) % 32] })
            state.users[id]?.authenticator = (secret, false)
            let uri = "otpauth://totp/Gatehouse?secret=\(secret)&issuer=Gatehouse"
            return .ok(["secret": .string(secret), "otpauth_uri": .string(uri)])
        case ("POST", "mfa/totp/verify"):
            guard let secret = state.users[id]?.authenticator?.secret, let code = request.text("code"),
                code == authenticatorCode(for: secret)
            else { throw FakeRefusal.wrongFactor }
            state.users[id]?.authenticator = (secret, true)
            state.users[id]?.asksForAuthenticator = true
            state.users[id]?.lastAuthenticatorCode = code
            return .done
        case ("DELETE", "mfa/totp"):
            state.users[id]?.authenticator = nil
            state.users[id]?.asksForAuthenticator = false
            return .done
        default: throw FakeRefusal.notFound
        }
        let user = state.users[id]
        let isOn = user?.asksForAuthenticator == true
        return .ok([
            "enabled": .array(isOn ? [name] : []), "preferred": isOn ? name : .null,
            "available": .array(user?.authenticator?.isVerified == true ? [name] : []),
        ])
    }
}
