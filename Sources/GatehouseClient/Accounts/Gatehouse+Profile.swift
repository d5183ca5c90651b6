public enum Contact: String, Sendable {
    case email
    case phoneNumber = "phone_number"

    fileprivate var path: String { self == .email ? "me/email" : "me/phone" }
}

extension Gatehouse {
    /// The user as the gateway has it now. ``state`` has it from then on.
    @discardableResult
    public func me() async throws -> User {
        try await took(await authorized(.get, "me"))
    }

    /// Checks the session at the gateway. For sessions of Sign in with Apple, also those of deleted users fail.
    @discardableResult
    public func validate() async throws -> User {
        guard try await currentSession().kind == .apple else { return try await me() }
        return try await took(await authorized(.post, "validate"))
    }

    /// Changes the user's name and attributes of the pool.
    @discardableResult
    public func update(name: String? = nil, attributes: [String: String] = [:]) async throws -> User {
        var body: [String: JSONValue] = [:]
        body["name"] = name.map { .string($0) }
        body["attributes"] = attributes.json
        return try await took(await authorized(.patch, "me", body: body))
    }

    /// Changes the name and the telephone number of a user of Sign in with Apple; `.some(nil)` removes one.
    @discardableResult
    public func updateSessionUser(name: String?? = nil, phoneNumber: String?? = nil) async throws -> User {
        var body: [String: JSONValue] = [:]
        if let name { body["name"] = name.map { .string($0) } ?? .null }
        if let phoneNumber { body["phoneNumber"] = phoneNumber.map { .string($0) } ?? .null }
        return try await took(await authorized(.patch, "me", body: body))
    }

    /// Deletes the user at the provider and at the gateway, and ends all sessions.
    public func deleteUser() async throws {
        let _: Done = try await authorized(.delete, "me")
        guard let session else { return }
        _ = await ended(session, .userDeleted)
        report(.userDeleted)
    }

    /// All that is stored about the user.
    public func export() async throws -> JSONValue { try await authorized(.get, "me/export") }

    /// Begins a change of the user's address or number: a code goes to the new one.
    ///
    /// - Parameter password: the current one; nil for gateways that ask for none.
    @discardableResult
    public func change(_ contact: Contact, to new: String, password: String? = nil) async throws -> CodeDelivery {
        var body = [contact.rawValue: JSONValue.string(new)]
        body["current_password"] = password.map { .string($0) }
        return try await (authorized(.post, contact.path, body: body) as DeliveryResponse).delivery
    }

    /// Sends the code of a change again, or one for an address or number that is not verified.
    @discardableResult
    public func resendCode(for contact: Contact) async throws -> CodeDelivery {
        try await (authorized(.post, contact.path + "/resend", body: [:]) as DeliveryResponse).delivery
    }

    /// Ends a change with the code from the message.
    @discardableResult
    public func verify(_ contact: Contact, code: String) async throws -> User {
        let body = ["code": JSONValue.string(code)]
        return try await took(await authorized(.post, contact.path + "/verify", body: body))
    }

    /// The user in a response of either family, which is in use and stored from then on.
    func took(_ response: JSONValue) async throws -> User {
        let isWrapped = session?.kind == .apple && response["user"] != nil
        let user = User(fields: isWrapped ? response["user"] ?? .null : response)
        guard case .object = user.fields else { throw GatehouseError.unexpectedResponse(status: 200) }
        guard var session, session.user != user else { return user }
        session.user = user
        self.session = session
        become(.signedIn(user, isFresh: remaining(session) > 0))
        report(.userChanged(user))
        do {
            // Another sign-in's session stays in the store, where the next refresh finds it.
            if case .overtaken(let other) = try await store(session, inPlaceOf: session.renewal) {
                if self.session?.generation == other.generation { self.session = other }
            }
        } catch {
            report(.notStored(Self.reason(error)))
        }
        return user
    }
}
