internal import Accounts
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    static let sessionMe = AccountOperation(
        "session-me", .get, "me", bearer: .required, budget: .account, metricsName: "me")
    static let sessionUpdateMe = AccountOperation(
        "session-update-me", .patch, "me", bearer: .required, budget: .account, effect: .userChanged,
        metricsName: "update-me")
}

/// `GET me`: the stored user; a session's token reflects only its last refresh.
struct SessionMeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionMe

    private let caller: SessionCaller

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        caller = try SessionCaller(try endpoints.verified(request))
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let sessions = try endpoints.ownSessions()
        let user = try await sessions.withRecords(request.requestID) { try await sessions.users.user(caller.userID) }
        guard let user else { throw .tokenInvalid(reason: .account(.sessionEnded)) }
        return endpoints.answer(showing: user)
    }
}

/// `PATCH me`: changes the name or phone number, neither of which is verified.
struct SessionUpdateMeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.sessionUpdateMe

    private let caller: SessionCaller
    private let change: UserChange

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        let object = try request.jsonObject()
        var fields = RequestFields(object)
        change = UserChange(
            name: fields.change(of: "name", in: object) { fields in
                AppleSignInBody.trimmed(fields.optionalText("name", atMost: 256, .name))
            },
            phoneNumber: fields.phoneChange(in: object))
        fields.refuse("email", "is Apple's to change")
        try fields.check()
        caller = try SessionCaller(try endpoints.verified(request))
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let sessions = try endpoints.ownSessions()
        let user = try await sessions.withRecords(request.requestID) {
            try await sessions.users.change(change, of: caller.userID)
        }
        guard let user else { throw .tokenInvalid(reason: .account(.sessionEnded)) }
        return endpoints.answer(showing: user)
    }
}

extension SessionEndpoints {
    fileprivate func answer(showing user: UserRecord) -> AccountAnswer {
        .showing(apple.settings.shown(user), subject: user.id, outcome: .shown(user.account)) { user in
            ["success": true, "user": .object(user)]
        }
    }
}

extension RequestFields {
    /// An omitted field is unchanged; null or an empty text removes the value.
    fileprivate mutating func change(
        of name: String, in object: JSONObject, _ read: (inout RequestFields) -> String?
    ) -> UserChange.Value {
        object[name] == nil ? .unchanged : .set(read(&self))
    }

    /// `phoneNumber`, as in responses, or `phone_number`.
    fileprivate mutating func phoneChange(in object: JSONObject) -> UserChange.Value {
        let name = object["phoneNumber"] == nil ? "phone_number" : "phoneNumber"
        return change(of: name, in: object) { fields in
            let number = fields.optionalText(name, atMost: 16, .address)
            guard let number, !number.isEmpty else { return nil }
            if !PhoneNumber.isWellFormed(number) { fields.refuse(name, PhoneNumber.rule) }
            return number
        }
    }
}
