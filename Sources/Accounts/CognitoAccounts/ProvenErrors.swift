internal import Cognito
internal import Cryptography
internal import Encoding
internal import Locking
internal import Pipeline

/// The errors about one account that the pool reports to a wrong password too, as far as it has shown that.
///
/// AWS documents "User is disabled" after a right password for pools that prevent user existence errors, and nothing
/// for other pools, nor for temporary passwords and passwords to reset. So the gateway finds out.
final class ProvenErrors: Sendable {
    private let known = Locked<[CognitoErrorKind: Bool]>([:])
    /// By Cognito's own names: a pool may check its policy and the history of passwords at different times.
    private let knownAtReset = Locked<[ExactText: Bool]>([:])

    /// Nil while it is unknown.
    func provesPassword(_ kind: CognitoErrorKind) -> Bool? { known.withLock { $0[kind] } }

    func note(_ kind: CognitoErrorKind, provesPassword: Bool) { known.withLock { $0[kind] = provesPassword } }

    /// Whether an error about the new password of a reset tells nothing of the account (``CognitoAccounts``). Nil while
    /// it is unknown.
    func isHarmlessAtReset(_ type: ExactText) -> Bool? { knownAtReset.withLock { $0[type] } }

    func note(_ type: ExactText, isHarmlessAtReset: Bool) {
        knownAtReset.withLock { $0[type] = isHarmlessAtReset }
    }
}

extension CognitoAccounts {
    /// The refusal of a sign-in. Whoever has proven the password hears that the account is disabled, or that the
    /// temporary password has expired; to anybody else both are a wrong password. Where addresses are concealed, so is a
    /// password that must be reset.
    ///
    /// - Parameter attempt: what Cognito was asked; nil for a decoy.
    func signInRefusal(
        of error: CognitoError, _ attempt: Authenticator.Attempt?, _ request: AccountRequest
    ) async -> Refusal {
        let refusal = refusal(of: error, at: .signIn, request)
        guard let attempt, let proven = Self.refusal(proven: error.kind), proven.error != refusal.error,
            await isProof(error.kind, attempt)
        else { return refusal }
        return proven
    }

    private static func refusal(proven kind: CognitoErrorKind) -> Refusal? {
        switch kind {
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(kind))
        case .temporaryPasswordExpired: Refusal(.temporaryPasswordExpired, reason: .cognito(kind))
        case .passwordResetRequired: Refusal(.passwordResetRequired, reason: .cognito(kind))
        default: nil
        }
    }

    /// Whether the pool gives this error to a right password only. Where that is unknown, the same user is tried with a
    /// password that nobody has: once in a process, so that the time of a response tells nothing.
    private func isProof(_ kind: CognitoErrorKind, _ attempt: Authenticator.Attempt) async -> Bool {
        if let known = provenErrors.provesPassword(kind) { return known }
        var wrong = attempt
        (wrong.password, wrong.device) = (Decoy.password(), nil)
        do {
            _ = try await authenticator.begin(&wrong)
        } catch {
            switch error.kind {
            case kind: provenErrors.note(kind, provesPassword: false)
            case .badCredentials: provenErrors.note(kind, provesPassword: true)
            // Nothing is known by it.
            default: return false
            }
        }
        return provenErrors.provesPassword(kind) ?? false
    }
}
