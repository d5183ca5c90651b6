import Foundation
import GatehouseClient

extension FakeGateway {
    /// The calls at `me/email` and `me/phone`. As at a pool of Amazon's defaults, a new address is the user's at once, and
    /// verified by its code.
    func contact(_ call: String, _ id: String, _ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        guard request.method == "POST", var user = state.users[id] else { throw FakeRefusal.notFound }
        let name = call.hasPrefix("me/email") ? "email" : "phone_number"
        if call.hasSuffix("/verify") {
            try Self.require(["code"], request)
            guard let code = user.contactCodes[name], code == request.text("code") else { throw FakeRefusal.wrongCode }
            user.contactCodes[name] = nil
            user.verified.insert(name)
            state.users[id] = user
            return FakeReply(body: user.json)
        }
        if !call.hasSuffix("/resend") {
            try Self.require([name, "current_password"], request)
            guard user.password == request.text("current_password") else { throw FakeRefusal.currentPassword }
            let new = request.text(name) ?? ""
            guard user.contact(name) != new || !user.verified.contains(name) else {
                throw FakeRefusal.invalid([name: "is verified already"])
            }
            // Somebody else's address gets the same response, and no code.
            if name == "email", let other = state.userID(new), other != id {
                return .ok(["delivery": Self.delivery(new)], status: 202)
            }
            if name == "email" { user.email = new } else { user.attributes[name] = new }
            user.verified.remove(name)
        }
        let code = Self.digits("contact code \(state.next())")
        user.contactCodes[name] = code
        state.users[id] = user
        state.messages[user.contact(name)] = code
        return .ok(["delivery": Self.delivery(user.contact(name))], status: 202)
    }

    /// The masked destination, such as `b***@e***`.
    static func delivery(_ address: String) -> JSONValue {
        guard address.contains("@") else {
            return .object(["destination": .string("+*******" + address.suffix(4)), "medium": "SMS"])
        }
        let masked = address.split(separator: "@").map { $0.prefix(1) + "***" }.joined(separator: "@")
        return .object(["destination": .string(masked), "medium": "EMAIL"])
    }
}
