import Foundation
public import GatehouseClient

extension FakeGateway {
    private static let relyingParty = "auth.example.com"

    /// The response of the user's authenticator to the options of a registration or a sign-in. It has one credential for
    /// each user, and signs nothing: the challenge is its proof.
    public func passkeyResponse(to options: JSONValue, email: String) -> JSONValue {
        locked { state in
            let id = JSONValue.string("passkey-" + (state.userID(email) ?? ""))
            return .object([
                "id": id, "rawId": id, "type": "public-key",
                "response": .object(["clientDataJSON": options["challenge"] ?? .null]),
            ])
        }
    }

    /// The calls at `me/passkeys`.
    func passkeys(_ call: String, _ id: String, _ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        switch (request.method, call) {
        case ("POST", "me/passkeys/options"):
            let challenge = Self.secret(state.next())
            state.passkeyChallenges[challenge] = id
            return .ok([
                "options": .object([
                    "challenge": .string(challenge), "pubKeyCredParams": .array([.object(["alg": .number(-7)])]),
                    "rp": .object(["id": .string(Self.relyingParty)]), "user": .object(["id": .string(id)]),
                ])
            ])
        case ("POST", "me/passkeys"):
            guard case .object? = request.body["credential"] else {
                throw FakeRefusal.invalid(["credential": "must be an object"])
            }
            guard let passkey = proven(request, id, &state) else {
                throw FakeRefusal.invalid(["credential": "is not right"])
            }
            state.users[id]?.passkeys.append(passkey)
            return .done
        case ("GET", "me/passkeys"):
            let passkeys = state.users[id]?.passkeys ?? []
            return .ok([
                "passkeys": .array(
                    passkeys.map {
                        .object(["id": .string($0), "relying_party_id": .string(Self.relyingParty), "name": .null])
                    })
            ])
        case ("DELETE", _):
            let passkey = String(call.dropFirst("me/passkeys/".count))
            guard let index = state.users[id]?.passkeys.firstIndex(of: passkey) else { throw FakeRefusal.notFound }
            state.users[id]?.passkeys.remove(at: index)
            return .done
        default: throw FakeRefusal.notFound
        }
    }

    /// The identifier of the passkey that has answered a challenge of this user's.
    private func proven(_ request: FakeRequest, _ id: String, _ state: inout FakeState) -> String? {
        let credential = request.body["credential"]
        guard let challenge = credential?["response"]?["clientDataJSON"]?.text,
            state.passkeyChallenges.removeValue(forKey: challenge) == id
        else { return nil }
        return credential?["id"]?.text
    }

    /// Begins a sign-in with another factor than the password. Nothing tells whether the account exists.
    func passwordless(_ factor: String, _ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        let (session, email) = (Self.secret(state.next()), request.text("email") ?? "")
        let id = state.userID(email) ?? ""
        var parameters: [String: JSONValue] = [:]
        switch factor {
        case "EMAIL_OTP":
            let code = Self.digits("sign-in code \(state.next())")
            state.users[id]?.signInCode = code
            state.messages[email] = code
            if case .object(let delivery) = Self.delivery(email) {
                parameters = ["destination": delivery["destination"] ?? .null, "delivery_medium": "EMAIL"]
            }
        case "WEB_AUTHN":
            let challenge = Self.secret(state.next())
            state.passkeyChallenges[challenge] = id
            parameters["options"] = .object([
                "challenge": .string(challenge), "rpId": .string(Self.relyingParty), "allowCredentials": .array([]),
            ])
        default: throw FakeRefusal.invalid(["factor": "is not offered"])
        }
        state.challenges[session] = id
        return .ok(
            ["challenge": .string(factor), "session": .string(session), "parameters": .object(parameters)],
            status: 202)
    }

    /// Answers the challenge of a sign-in without a password.
    func passwordlessAnswer(_ factor: String, _ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        guard let session = request.text("session"), let id = state.challenges[session] else {
            throw FakeRefusal.signInEnded
        }
        guard let user = state.users[id] else {
            throw factor == "WEB_AUTHN" ? FakeRefusal.badCredentials : FakeRefusal.wrongFactor
        }
        if factor == "WEB_AUTHN" {
            guard let passkey = proven(request, id, &state), user.passkeys.contains(passkey) else {
                throw FakeRefusal.badCredentials
            }
        } else {
            guard let code = user.signInCode, code == request.text("code") else { throw FakeRefusal.wrongFactor }
            state.users[id]?.signInCode = nil
        }
        state.challenges[session] = nil
        return begin(user, request, &state)
    }
}
