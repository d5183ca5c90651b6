import Foundation

#if canImport(AuthenticationServices)
    public import AuthenticationServices

    /// The two closures of SwiftUI's `SignInWithAppleButton`.
    @MainActor
    public final class AppleButton {
        private let gatehouse: Gatehouse
        private var nonces = ButtonNonces()

        public init(_ gatehouse: Gatehouse) { self.gatehouse = gatehouse }

        /// Gets a nonce from a gateway with `server_nonce: required`. Call it when the button appears, after each sign-in,
        /// and while the button is shown before the nonce ends: after 5 minutes, unless the gateway has another setting.
        /// A nonce whose dialogue was cancelled is used again.
        public func prepare() async throws { nonces.prepared = try await gatehouse.appleNonceFromGateway() }

        /// Asks Apple for the name and the e-mail address, with the hash of a nonce that is used once.
        public func configure(_ request: ASAuthorizationAppleIDRequest) {
            request.requestedScopes = [.fullName, .email]
            request.nonce = nonces.next(or: gatehouse.makeAppleNonce(), at: gatehouse.clock.uptime).hashed
        }

        /// Signs the user in with Apple's result.
        ///
        /// - Returns: the user; nil if the user cancelled the dialogue.
        /// - Throws: ``GatehouseError``, and `ASAuthorizationError` for Apple's own errors.
        @discardableResult
        public func signIn(_ result: Result<ASAuthorization, any Error>) async throws -> User? {
            let authorization: ASAuthorization
            do {
                authorization = try result.get()
            } catch let error as ASAuthorizationError where error.code == .canceled {
                return nil
            }
            guard let apple = authorization.credential as? ASAuthorizationAppleIDCredential,
                let token = apple.identityToken.flatMap({ String(data: $0, encoding: .utf8) }),
                let nonce = nonces.use()
            else { throw ASAuthorizationError(.invalidResponse) }
            let name = apple.fullName.map { PersonNameComponentsFormatter().string(from: $0) }
            let credential = AppleCredential(
                identityToken: token,
                authorizationCode: apple.authorizationCode.flatMap { String(data: $0, encoding: .utf8) },
                userIdentifier: apple.user, name: name?.isEmpty == false ? name : nil)
            return try await gatehouse.signIn(with: credential, nonce: nonce)
        }
    }
#endif

/// The nonces of an `AppleButton`.
struct ButtonNonces {
    /// The gateway's, until it is used.
    var prepared: AppleNonce?
    /// Of the request that the system shows.
    private var shown: AppleNonce?

    /// The nonce of the next request: the prepared one, or `own` if there is none that is still good.
    mutating func next(or own: AppleNonce, at uptime: TimeInterval) -> AppleNonce {
        if let end = prepared?.endsAt, end <= uptime { prepared = nil }
        let nonce = prepared ?? own
        shown = nonce
        return nonce
    }

    /// The nonce of the request that Apple has granted; nil if there is none.
    mutating func use() -> AppleNonce? {
        defer { shown = nil }
        if prepared == shown { prepared = nil }
        return shown
    }
}
