internal import Cognito
internal import Cryptography
internal import Encoding
internal import Locking
internal import Pipeline

/// The account errors that the pool reports only after a right password, as far as its responses have shown.
///
/// AWS documents "User is disabled" after a right password for pools that prevent user existence errors. It documents
/// nothing for other pools, for temporary passwords, or for passwords to reset. So the gateway finds out.
final class ProvenErrors: Sendable {
    private let known = Locked<[CognitoErrorKind: Bool]>([:])
    /// By Cognito's error names: a pool may check its password policy and the password history at different times.
    private let knownAtReset = Locked<[ExactText: Bool]>([:])

    /// Returns whether the error proves a right password; nil while that is unknown.
    func provesPassword(_ kind: CognitoErrorKind) -> Bool? { known.withLock { $0[kind] } }

    func note(_ kind: CognitoErrorKind, provesPassword: Bool) { known.withLock { $0[kind] = provesPassword } }

    /// Returns whether an error about the new password of a reset reveals nothing about the account
    /// (``CognitoAccounts``); nil while that is unknown.
    func isHarmlessAtReset(_ type: ExactText) -> Bool? { knownAtReset.withLock { $0[type] } }

    func note(_ type: ExactText, isHarmlessAtReset: Bool) {
        knownAtReset.withLock { $0[type] = isHarmlessAtReset }
    }
}

extension CognitoAccounts {
    /// Returns the refusal of a sign-in. A caller who has proven the password learns that the account is disabled, or
    /// that the temporary password has expired; for anybody else both are a wrong password. If addresses are concealed,
    /// the same applies to a password that must be reset.
    ///
    /// - Parameter attempt: the attempt sent to Cognito; nil for a decoy.
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

    /// Returns whether the pool reports this error only after a right password. If that is unknown, the same user is
    /// tried with a random password: once per process, so that response times reveal nothing.
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
            // The error shows nothing.
            default: return false
            }
        }
        return provenErrors.provesPassword(kind) ?? false
    }
}
