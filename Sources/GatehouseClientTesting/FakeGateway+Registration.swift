import Foundation
import GatehouseClient

extension FakeGateway {
    func register(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        try Self.require(["email", "password"], request)
        let (email, password) = (request.text("email") ?? "", request.text("password") ?? "")
        guard email.contains("@") else { throw FakeRefusal.invalid(["email": "is not an e-mail address"]) }
        try Self.checkPolicy(password)
        guard state.userID(email) == nil else {
            throw FakeRefusal(
                409, "UsernameExistsException", "There is such an account already.")
        }
        let (id, code) = (Self.identifier(state.next()), Self.digits("code \(state.next())"))
        state.users[id] = FakeUser(
            id: id, email: email, password: password, name: request.text("name"), isConfirmed: false, code: code)
        state.messages[email] = code
        return .ok(
            ["user_id": .string(id), "confirmed": false, "delivery": Self.delivery(email)], status: 201)
    }

    func confirm(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        try Self.require(["code", "email"], request)
        guard let id = state.userID(request.text("email")), let user = state.users[id], !user.isConfirmed,
            user.code == request.text("code")
        else { throw FakeRefusal.wrongCode }
        state.users[id]?.isConfirmed = true
        state.users[id]?.code = nil
        guard request.body["password"] != nil else { return .done }
        return try login(request, &state)
    }

    /// The response is the same for whoever there is no code for.
    func sendCode(_ request: FakeRequest, _ state: inout FakeState, isForPassword: Bool) throws -> FakeReply {
        try Self.require(["email"], request)
        let email = request.text("email") ?? ""
        if let id = state.userID(email), state.users[id]?.isConfirmed == isForPassword {
            let code = Self.digits("code \(state.next())")
            state.users[id]?.code = code
            state.messages[email] = code
        }
        return .ok(["delivery": Self.delivery(email)], status: 202)
    }

    func resetPassword(_ request: FakeRequest, _ state: inout FakeState) throws -> FakeReply {
        try Self.require(["code", "email", "new_password"], request)
        guard let id = state.userID(request.text("email")), let user = state.users[id], user.isConfirmed,
            user.code != nil, user.code == request.text("code")
        else { throw FakeRefusal.wrongCode }
        let password = request.text("new_password") ?? ""
        try Self.checkPolicy(password)
        state.users[id]?.password = password
        state.users[id]?.code = nil
        state.end(userID: id)
        return .done
    }

    func changePassword(
        _ session: FakeSession, _ request: FakeRequest, _ state: inout FakeState
    ) throws -> FakeReply {
        try Self.require(["current_password", "new_password"], request)
        guard state.users[session.userID]?.password == request.text("current_password") else {
            throw FakeRefusal.currentPassword
        }
        let password = request.text("new_password") ?? ""
        try Self.checkPolicy(password)
        state.users[session.userID]?.password = password
        state.end(userID: session.userID, but: session.id)
        return .done
    }

    /// The default policy of a pool.
    private static func checkPolicy(_ password: String) throws {
        let symbols = "^$*.[]{}()?\"!@#%&/\\,><':;|_~`=+- "
        guard password.count >= 8, password.contains(where: \.isUppercase), password.contains(where: \.isLowercase),
            password.contains(where: \.isNumber), password.contains(where: { symbols.contains($0) })
        else { throw FakeRefusal.passwordPolicy }
    }
}
