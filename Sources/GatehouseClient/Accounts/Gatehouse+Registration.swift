public struct CodeDelivery: Sendable, Hashable, Decodable {
    /// Masked, such as `b***@e***`.
    public let destination: String?
    /// `EMAIL` or `SMS`.
    public let medium: String?
}

/// A registration that the gateway accepted.
public struct Registration: Sendable, Hashable, Decodable {
    /// Nil if the gateway conceals which accounts exist.
    public let userID: String?
    public let isConfirmed: Bool
    /// Nil if no code was sent.
    public let delivery: CodeDelivery?

    private enum CodingKeys: String, CodingKey {
        case delivery
        case userID = "user_id"
        case isConfirmed = "confirmed"
    }
}

struct DeliveryResponse: Decodable { var delivery: CodeDelivery }

extension Gatehouse {
    /// Registers a user. ``confirm(_:code:password:)`` follows unless the registration is confirmed already.
    public func register(
        _ name: AccountName, password: String, fullName: String? = nil, attributes: [String: String] = [:],
        clientMetadata: [String: String] = [:]
    ) async throws -> Registration {
        var body: [String: JSONValue] = [name.member.name: name.member.value, "password": .string(password)]
        body["name"] = fullName.map { .string($0) }
        body["attributes"] = attributes.json
        body["client_metadata"] = clientMetadata.json
        body["device_info"] = await device().json
        return try await send(AccountCall(path: "register", body: body))
    }

    /// Confirms a registration with the code from the message.
    ///
    /// - Parameter password: signs the user in with the same call; nil to confirm only.
    /// - Returns: the step of the sign-in; nil without a password.
    @discardableResult
    public func confirm(_ name: AccountName, code: String, password: String? = nil) async throws -> SignInStep? {
        var body: [String: JSONValue] = [name.member.name: name.member.value, "code": .string(code)]
        body["password"] = password.map { .string($0) }
        let call = AccountCall(path: "confirm", body: body, repeats: configuration.signInRetries, isRepeatable: false)
        if password != nil {
            // The response's device token is stored with it.
            _ = await device()
            return try await step(call)
        }
        let _: Done = try await send(call)
        return nil
    }

    /// Sends the code of a registration again. The response is the same for accounts that do not exist.
    @discardableResult
    public func resendCode(_ name: AccountName) async throws -> CodeDelivery { try await sentCode("resend-code", name) }

    /// Sends a code for a new password. The response is the same for accounts that do not exist.
    @discardableResult
    public func forgotPassword(_ name: AccountName) async throws -> CodeDelivery {
        try await sentCode("forgot-password", name)
    }

    private func sentCode(_ path: String, _ name: AccountName) async throws -> CodeDelivery {
        let call = AccountCall(path: path, body: [name.member.name: name.member.value])
        return try await (send(call) as DeliveryResponse).delivery
    }

    /// Sets a new password with the code from the message.
    public func resetPassword(_ name: AccountName, code: String, newPassword: String) async throws {
        let body: [String: JSONValue] = [
            name.member.name: name.member.value, "code": .string(code), "new_password": .string(newPassword),
        ]
        let _: Done = try await send(AccountCall(path: "reset-password", body: body))
    }

    public func changePassword(from current: String, to new: String) async throws {
        let _: Done = try await authorized(
            .post, "change-password", body: ["current_password": .string(current), "new_password": .string(new)])
    }
}
