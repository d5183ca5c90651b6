import Foundation

/// A nonce of a sign-in with Apple: the raw one for the gateway, its hash for Apple.
public struct AppleNonce: Sendable, Hashable {
    public let raw: Secret
    /// The lowercase hexadecimal SHA-256 of `raw`, for the request's `nonce`.
    public let hashed: String
    /// The uptime at which the gateway stops taking it; nil for one that the app has made.
    var endsAt: TimeInterval?

    public init(raw: String) {
        self.raw = Secret(raw)
        hashed = SHA256.hexadecimal(raw)
    }
}

/// The result of the system's dialogue for Sign in with Apple.
public struct AppleCredential: Sendable {
    public var identityToken: Secret
    public var authorizationCode: Secret?
    public var userIdentifier: String?
    /// Only with the first sign-in.
    public var name: String?

    public init(
        identityToken: String, authorizationCode: String? = nil, userIdentifier: String? = nil, name: String? = nil
    ) {
        self.identityToken = Secret(identityToken)
        self.authorizationCode = authorizationCode.map(Secret.init)
        (self.userIdentifier, self.name) = (userIdentifier, name)
    }
}

extension Gatehouse {
    /// A new nonce of 32 random bytes.
    public nonisolated func makeAppleNonce() -> AppleNonce {
        let bytes = Data(random(32)).base64EncodedString()
        return AppleNonce(raw: bytes.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_"))
    }

    /// A nonce that the gateway has made, for gateways with `server_nonce: required`.
    public func appleNonceFromGateway() async throws -> AppleNonce {
        let before = clock.uptime
        let response: JSONValue = try await send(AccountCall(path: "apple/nonce", kind: .apple))
        guard let raw = response["nonce"]?.text else { throw GatehouseError.unexpectedResponse(status: 200) }
        var nonce = AppleNonce(raw: raw)
        if case .number(let seconds)? = response["expires_in"] { nonce.endsAt = before + seconds }
        return nonce
    }

    /// Signs a user in with Apple's credential.
    ///
    /// - Parameter nonce: the one whose hash the request to Apple had.
    @discardableResult
    public func signIn(with credential: AppleCredential, nonce: AppleNonce) async throws -> User {
        var body: [String: JSONValue] = [
            "identity_token": .string(credential.identityToken.text), "nonce": .string(nonce.raw.text),
        ]
        body["authorization_code"] = credential.authorizationCode.map { .string($0.text) }
        body["userIdentifier"] = credential.userIdentifier.map { .string($0) }
        body["name"] = credential.name.map { .string($0) }
        body["device_info"] = await device().json
        let call = AccountCall(
            path: "apple", kind: .apple, body: body, repeats: configuration.signInRetries, isRepeatable: false)
        let response: SessionResponse = try await send(call)
        guard let user = response.user else { throw GatehouseError.unexpectedResponse(status: 200) }
        var session = StoredSession(kind: .apple, accessToken: response.token, user: user)
        session.accept(response, now: gatewayNow)
        await begin(session)
        return user
    }
}
