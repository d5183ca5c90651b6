import Foundation
public import GatehouseClient
public import Observation

/// The first screen: signs the user in with a password, or with what another button gives.
@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor
@Observable
public final class SignInModel {
    public var email = ""
    public var password = ""
    public var code = ""
    /// The step that asks for a code; nil before the password was accepted.
    public private(set) var challenge: Challenge?
    /// The error to show; nil for none.
    public private(set) var message: String?
    public private(set) var isBusy = false
    private let gatehouse: Gatehouse

    public init(_ gatehouse: Gatehouse) { self.gatehouse = gatehouse }

    /// Signs in with the password, or with the code that was asked for.
    public func signIn() async {
        await run { [self] in
            let step =
                if let challenge {
                    try await gatehouse.answer(challenge, with: .code(code))
                } else { try await gatehouse.signIn(.email(email), password: password) }
            code = ""
            if case .challenge(let asked) = step { challenge = asked } else { (challenge, password) = (nil, "") }
        }
    }

    /// Runs a sign-in of another kind, such as Apple's, and shows its error.
    public func run(_ signIn: () async throws -> Void) async {
        guard !isBusy else { return }
        (isBusy, message) = (true, nil)
        defer { isBusy = false }
        do {
            try await signIn()
        } catch {
            message = error.localizedDescription
            // Only a wrong code can be typed again.
            if case GatehouseError.codeRefused = error { return }
            challenge = nil
        }
    }
}
