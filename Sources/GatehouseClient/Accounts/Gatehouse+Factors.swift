import Foundation

public struct SecondFactors: Sendable, Hashable, Decodable {
    /// Those that a sign-in asks for, such as `SOFTWARE_TOKEN_MFA`.
    public let enabled: [String]
    /// The one that is asked for first; nil if the user chooses.
    public let preferred: String?
    public let available: [String]
}

public struct AuthenticatorKey: Sendable, Hashable, Decodable {
    /// In Base32, for typing.
    public let secret: Secret
    /// The key as a URI, for a QR code.
    public let uri: Secret

    private enum CodingKeys: String, CodingKey {
        case secret
        case uri = "otpauth_uri"
    }
}

public struct Passkey: Sendable, Hashable, Decodable {
    public let id: String
    public let name: String?
    public let relyingPartyID: String?

    private enum CodingKeys: String, CodingKey {
        case id, name
        case relyingPartyID = "relying_party_id"
    }
}

extension Gatehouse {
    public func secondFactors() async throws -> SecondFactors { try await authorized(.get, "mfa") }

    /// Sets which second factors a sign-in asks for. All others are switched off.
    @discardableResult
    public func setSecondFactors(_ enabled: [String], preferred: String? = nil) async throws -> SecondFactors {
        let body: [String: JSONValue] = [
            "enabled": .array(enabled.map { .string($0) }), "preferred": preferred.map { .string($0) } ?? .null,
        ]
        return try await authorized(.patch, "mfa", body: body)
    }

    /// Begins to set an authenticator app up. ``verifyAuthenticator(code:)`` ends it.
    public func setUpAuthenticator() async throws -> AuthenticatorKey { try await authorized(.post, "mfa/totp") }

    public func verifyAuthenticator(code: String) async throws {
        let _: Done = try await authorized(.post, "mfa/totp/verify", body: ["code": .string(code)])
    }

    public func removeAuthenticator() async throws { let _: Done = try await authorized(.delete, "mfa/totp") }

    /// The options for a new passkey (Web Authentication Level 3, section 5.1.9, PublicKeyCredentialCreationOptionsJSON).
    public func passkeyOptions() async throws -> JSONValue {
        let response: JSONValue = try await authorized(.post, "me/passkeys/options")
        guard let options = response["options"] else { throw GatehouseError.unexpectedResponse(status: 200) }
        return options
    }

    /// Stores a new passkey: the authenticator's response (section 5.1.8, RegistrationResponseJSON).
    public func addPasskey(_ credential: JSONValue) async throws {
        let _: Done = try await authorized(.post, "me/passkeys", body: ["credential": credential])
    }

    public func passkeys() async throws -> [Passkey] {
        struct Response: Decodable { var passkeys: [Passkey] }
        return try await (authorized(.get, "me/passkeys") as Response).passkeys
    }

    public func deletePasskey(_ id: String) async throws {
        let _: Done = try await authorized(.delete, "me/passkeys/\(id.pathSegment)")
    }
}

extension String {
    /// As one segment of a path (RFC 3986, section 3.3).
    var pathSegment: String {
        let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "/;"))
        return addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }
}
