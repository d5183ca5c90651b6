/// The purpose of one of the gateway's own keys.
package enum KeyPurpose: String, Sendable, CaseIterable {
    /// Signs the caller's identity for backends.
    case assertion
    /// Signs the gateway's own session tokens.
    case session
    /// Seals the refresh tokens that clients keep.
    case sealing
    /// Hashes the names of users in the audit log. Hashes under different keys cannot be compared.
    case audit
    /// Hashes the keys of limits: a new key resets all counts, locks and known devices.
    case limits

    /// Whether verifiers must have a key before it is used. Sealed data is opened only by the gateway itself.
    package var publishesKeys: Bool { !isSymmetric }

    /// Whether a key is 32 random bytes.
    package var isSymmetric: Bool {
        switch self {
        case .assertion, .session: false
        case .sealing, .audit, .limits: true
        }
    }

    /// The name of the key file in a state directory.
    package var fileName: String { "\(rawValue)-keys.json" }

    /// The file's current and earlier names.
    package var fileNames: [String] { [fileName] + (self == .sealing ? [Self.singleSealingKeyName] : []) }

    /// The file in which earlier versions stored their one sealing key as 32 bytes.
    package static let singleSealingKeyName = "sealing.key"
}
