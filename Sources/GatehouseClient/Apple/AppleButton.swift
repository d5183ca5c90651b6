#if canImport(AuthenticationServices)
    public import AuthenticationServices
    import Foundation

    /// The two closures of SwiftUI's `SignInWithAppleButton`.
    @MainActor
    public final class AppleButton {
        private let gatehouse: Gatehouse
        private var prepared: AppleNonce?
        /// Of the request that the system shows.
        private var nonce: AppleNonce?

        public init(_ gatehouse: Gatehouse) { self.gatehouse = gatehouse }

        /// Gets a nonce from a gateway with `server_nonce: required`. Call it when the button appears, and after each
        /// sign-in.
        public func prepare() async throws { prepared = try await gatehouse.appleNonceFromGateway() }

        /// Asks Apple for the name and the e-mail address, with the hash of a nonce that is used once.
        public func configure(_ request: ASAuthorizationAppleIDRequest) {
            let nonce = prepared ?? gatehouse.makeAppleNonce()
            self.nonce = nonce
            prepared = nil
            request.requestedScopes = [.fullName, .email]
            request.nonce = nonce.hashed
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
            guard let apple = authorization.credential as? ASAuthorizationAppleIDCredential, let nonce,
                let token = apple.identityToken.flatMap({ String(data: $0, encoding: .utf8) })
            else { throw ASAuthorizationError(.invalidResponse) }
            self.nonce = nil
            let name = apple.fullName.map { PersonNameComponentsFormatter().string(from: $0) }
            let credential = AppleCredential(
                identityToken: token,
                authorizationCode: apple.authorizationCode.flatMap { String(data: $0, encoding: .utf8) },
                userIdentifier: apple.user, name: name?.isEmpty == false ? name : nil)
            return try await gatehouse.signIn(with: credential, nonce: nonce)
        }
    }
#endif
