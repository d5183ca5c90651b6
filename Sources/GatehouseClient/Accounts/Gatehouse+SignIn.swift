import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How the user's name is given: by default pools sign in by e-mail address.
public enum AccountName: Sendable, Hashable, ExpressibleByStringLiteral {
    case email(String)
    case phoneNumber(String)
    case username(String)

    public init(stringLiteral value: String) { self = .email(value) }

    var member: (name: String, value: JSONValue) {
        switch self {
        case .email(let text): ("email", .string(text))
        case .phoneNumber(let text): ("phone_number", .string(text))
        case .username(let text): ("username", .string(text))
        }
    }
}

public enum SignInStep: Sendable {
    case signedIn(User)
    /// The user must take one more step: answer it with ``Gatehouse/answer(_:with:)``.
    case challenge(Challenge)

    public var user: User? { if case .signedIn(let user) = self { user } else { nil } }
}

extension Gatehouse {
    /// Signs a user in with a password, or with another factor.
    ///
    /// - Parameters:
    ///   - factor: the factor to sign in with, such as `EMAIL_OTP`; nil for the password.
    ///   - rememberMe: false for a session that ends after a day.
    ///   - clientMetadata: values for the pool's triggers, of the names that the gateway lets through.
    ///
    /// If the network fails, the call is sent again up to `Configuration.signInRetries` times.
    ///
    /// - Throws: ``GatehouseError``: ``GatehouseError/wrongCredentials(_:)``, ``GatehouseError/notConfirmed(_:)``,
    ///   ``GatehouseError/tooManyTries(until:_:)`` and others.
    @discardableResult
    public func signIn(
        _ name: AccountName, password: String? = nil, factor: String? = nil, rememberMe: Bool = true,
        clientMetadata: [String: String] = [:]
    ) async throws -> SignInStep {
        var body: [String: JSONValue] = [name.member.name: name.member.value]
        body["password"] = password.map { .string($0) }
        body["factor"] = factor.map { .string($0) }
        if !rememberMe { body["remember_me"] = false }
        body["client_metadata"] = clientMetadata.json
        body["device_info"] = await device().json
        body["device_token"] = item?.deviceToken.map { .string($0.text) }
        let call = AccountCall(path: "login", body: body, repeats: configuration.signInRetries)
        return try await step(call)
    }

    /// - Throws: ``GatehouseError``. After ``GatehouseError/codeRefused(_:)`` the same challenge can be answered again.
    @discardableResult
    public func answer(_ challenge: Challenge, with answer: ChallengeAnswer) async throws -> SignInStep {
        var body = answer.body
        body["challenge"] = .string(challenge.kind.rawValue)
        body["session"] = .string(challenge.session.text)
        body["device_info"] = await device().json
        // The code is used up by the gateway's first try: sent again only if nothing was sent.
        let call = AccountCall(path: "challenge", body: body, repeats: configuration.signInRetries, isRepeatable: false)
        return try await step(call)
    }

    /// Sends a call whose response is tokens or a challenge.
    func step(_ call: AccountCall) async throws -> SignInStep {
        let (data, response) = try await exchange(call)
        if response.statusCode == 202 { return .challenge(try decoded(data, response)) }
        let tokens: TokensResponse = try decoded(data, response)
        guard let user = tokens.user else { throw GatehouseError.unexpectedResponse(status: response.statusCode) }
        var session = StoredSession(kind: .cognito, accessToken: tokens.accessToken, user: user)
        session.accept(tokens, now: gatewayNow)
        if let token = tokens.deviceToken { item?.deviceToken = token }
        await begin(session)
        return .signedIn(user)
    }

    /// Makes a session the one in use. It is in use also where it cannot be stored.
    func begin(_ session: StoredSession) async {
        self.session = session
        endOfToken = (session.accessToken, clock.uptime + session.lifetime)
        retry.succeeded()
        do {
            _ = try await persist(session, inPlaceOf: nil)
        } catch {
            report(.notStored(Self.reason(error)))
        }
        guard self.session?.generation == session.generation else { return }
        become(.signedIn(session.user, isFresh: true))
        report(.signedIn(session.user))
    }
}

extension [String: String] {
    /// Nil if there are none.
    var json: JSONValue? { isEmpty ? nil : .object(mapValues { .string($0) }) }
}
